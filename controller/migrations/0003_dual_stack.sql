-- The IPv6 half of a segment whose hosts have addresses of both families.

ALTER TABLE vpc_prefixes ADD COLUMN ipv6_prefix TEXT;
CREATE UNIQUE INDEX one_segment_an_ipv6_prefix ON vpc_prefixes (ipv6_prefix);

-- What traffic of instances is let through: by VPC, or by the instance's own config.

CREATE TABLE security_groups (
    name TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    version TEXT NOT NULL,
    stateful_egress BIGINT NOT NULL,
    rules TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

ALTER TABLE vpcs ADD COLUMN security_group TEXT REFERENCES security_groups (name);

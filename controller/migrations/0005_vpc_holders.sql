-- Instances, there or forgotten, whose DPUs were told of a VPC by a peering that ended since: until they have confirmed the
-- end, they may still use the VPC's numbers and prefixes.

CREATE TABLE vpc_holders (
    vpc_id TEXT NOT NULL REFERENCES vpcs (id),
    owner TEXT NOT NULL,
    PRIMARY KEY (vpc_id, owner)
);

-- VPCs whose hosts reach each other; both ways, so each pair is there twice.

CREATE TABLE vpc_peerings (
    vpc_id TEXT NOT NULL REFERENCES vpcs (id),
    peer_id TEXT NOT NULL REFERENCES vpcs (id),
    PRIMARY KEY (vpc_id, peer_id)
);

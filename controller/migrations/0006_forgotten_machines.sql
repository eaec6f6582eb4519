-- Machines that the site knew once. What comes back goes on where its versions ended.
CREATE TABLE forgotten_machines (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    forgotten_at BIGINT NOT NULL,
    -- The last version of the managed-host network that it was given.
    network_version TEXT NOT NULL,
    -- 1 for a host that was deleted: no site file brings it back until an operator says so.
    stays_away BIGINT NOT NULL
);

-- DPUs that run what this site never gave, until an operator says that the site's word counts.
CREATE TABLE held_dpus (
    dpu_id TEXT NOT NULL PRIMARY KEY REFERENCES dpus (id) ON DELETE CASCADE,
    network_version TEXT,
    instance_network_version TEXT,
    since BIGINT NOT NULL
);

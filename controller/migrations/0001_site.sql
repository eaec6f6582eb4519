-- The same text runs on SQLite and PostgreSQL: TEXT and BIGINT only. Times are microseconds since the epoch, versions
-- their own text (V<n>-T<micros>), structured values JSON.

CREATE TABLE hosts (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    mac TEXT NOT NULL,
    bmc TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    -- Intent of the managed-host network.
    network_version TEXT NOT NULL,
    use_admin_network BIGINT NOT NULL,
    quarantine TEXT,
    -- Where the host stands in its life; moves by compare-and-set on state_version.
    state TEXT NOT NULL,
    state_version TEXT NOT NULL,
    dpu_states TEXT NOT NULL,
    counters TEXT NOT NULL,
    notes TEXT NOT NULL,
    failure TEXT,
    outcome TEXT NOT NULL
);

CREATE TABLE dpus (
    id TEXT NOT NULL PRIMARY KEY,
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    -- 0 is the primary DPU.
    position BIGINT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    bmc TEXT NOT NULL,
    oob_mac TEXT NOT NULL,
    -- Id of the host's interface behind this DPU, which DHCP answers for.
    host_interface_id TEXT NOT NULL UNIQUE,
    UNIQUE (host_id, position)
);

-- One row a transition; the newest 250 of a host stay.
CREATE TABLE history (
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    state_version TEXT NOT NULL,
    at BIGINT NOT NULL,
    pack_hash TEXT NOT NULL,
    reason TEXT NOT NULL,
    -- What the rules saw, for replay.
    snapshot TEXT,
    PRIMARY KEY (host_id, number)
);

CREATE TABLE vpcs (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    virtualization TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE vpc_prefixes (
    id TEXT NOT NULL PRIMARY KEY,
    vpc_id TEXT NOT NULL REFERENCES vpcs (id),
    prefix TEXT NOT NULL UNIQUE
);

-- Numbers given out: VNIs, VLAN ids, AS numbers. A number is held once in its pool.
CREATE TABLE pool_numbers (
    pool TEXT NOT NULL,
    number BIGINT NOT NULL,
    owner TEXT NOT NULL,
    since BIGINT NOT NULL,
    -- When the site forgot the owner; the number stays held until an operator frees it.
    forgotten_at BIGINT,
    PRIMARY KEY (pool, number),
    UNIQUE (pool, owner)
);

-- Addresses given out. An address is held once in the site, whoever holds it.
CREATE TABLE addresses (
    address TEXT NOT NULL PRIMARY KEY,
    pool TEXT NOT NULL,
    owner TEXT NOT NULL,
    since BIGINT NOT NULL,
    -- When the site forgot the owner; the address stays held until an operator frees it.
    forgotten_at BIGINT
);
CREATE INDEX addresses_by_owner ON addresses (owner);

CREATE TABLE instances (
    id TEXT NOT NULL PRIMARY KEY,
    -- A host has one instance at most.
    host_id TEXT NOT NULL UNIQUE REFERENCES hosts (id),
    tenant TEXT NOT NULL,
    instance_type_id TEXT,
    config TEXT NOT NULL,
    metadata TEXT NOT NULL,
    config_version TEXT NOT NULL,
    network_version TEXT NOT NULL,
    interfaces TEXT NOT NULL,
    -- Live network update under way: the interfaces to come, or those to be let go of.
    network_update TEXT,
    created_at BIGINT NOT NULL,
    deletion_requested_at BIGINT,
    phone_home_at BIGINT
);

-- The last status report of each DPU.
CREATE TABLE observations (
    dpu_id TEXT NOT NULL PRIMARY KEY REFERENCES dpus (id) ON DELETE CASCADE,
    observed_at BIGINT NOT NULL,
    agent_version TEXT,
    network_version TEXT,
    instance_network_version TEXT,
    instance_config_version TEXT,
    instance_id TEXT,
    network_error TEXT,
    certificate_expiry BIGINT,
    details TEXT NOT NULL
);

-- Health reports by machine (host or DPU) and source; one Replace report a machine at most.
CREATE TABLE health_reports (
    machine_id TEXT NOT NULL,
    source TEXT NOT NULL,
    mode TEXT NOT NULL,
    report TEXT NOT NULL,
    -- Alerts in the report, to be counted without reading it.
    alerts BIGINT NOT NULL,
    PRIMARY KEY (machine_id, source)
);
CREATE UNIQUE INDEX one_replace_report ON health_reports (machine_id) WHERE mode = 'replace';

-- What operators and tenants ask for, until it is done or withdrawn.
CREATE TABLE requests (
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    arguments TEXT NOT NULL,
    PRIMARY KEY (host_id, kind)
);

-- The last event of each kind on a host or DPU, as reported by it or by an observer.
CREATE TABLE events (
    machine_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    arguments TEXT NOT NULL,
    PRIMARY KEY (machine_id, kind)
);

-- What actions and observers found out about a host or DPU, e.g. its power state, and when.
CREATE TABLE findings (
    machine_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (machine_id, name)
);

-- Actions: written before they run, completed after.
CREATE TABLE actions (
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    state_version TEXT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    arguments TEXT NOT NULL,
    status TEXT NOT NULL,
    intended_at BIGINT NOT NULL,
    finished_at BIGINT,
    error TEXT NOT NULL,
    PRIMARY KEY (host_id, number)
);

CREATE TABLE rule_packs (
    hash TEXT NOT NULL PRIMARY KEY,
    files TEXT NOT NULL,
    stored_at BIGINT NOT NULL
);

-- When which pack was put in force; the newest row is the pack in force.
CREATE TABLE rule_pack_uses (
    number BIGINT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL REFERENCES rule_packs (hash),
    at BIGINT NOT NULL
);

-- What was last known of the site itself, e.g. the digest of its network settings.
CREATE TABLE site_notes (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

//! Rule packs by content hash, and which was active when.

use serde::{Deserialize, Serialize};

use super::{
    Result, Tx,
    error::failed,
    row::{Row, micros, to_json},
};
use crate::Timestamp;

/// One file of a rule pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackFile {
    /// Relative path.
    pub path: String,
    /// Content.
    pub text: String,
}

/// A rule pack under its content hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPack {
    /// Content hash.
    pub hash: String,
    /// Its files.
    pub files: Vec<PackFile>,
    /// When it was first seen.
    pub stored_at: Timestamp,
}

/// When a pack was activated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackUse {
    /// Its content hash.
    pub hash: String,
    /// When.
    pub at: Timestamp,
}

impl Tx {
    /// Keeps a pack; of one that is known by its hash, whose rules are the same, the tests can be others.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_pack(&mut self, pack: &StoredPack) -> Result<()> {
        sqlx::query(
            "INSERT INTO rule_packs (hash, files, stored_at) VALUES ($1, $2, $3)
             ON CONFLICT (hash) DO UPDATE SET files = excluded.files",
        )
        .bind(&pack.hash)
        .bind(to_json("files", &pack.files)?)
        .bind(micros(pack.stored_at))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("keeping a rule pack"))?;
        Ok(())
    }

    /// A pack by its content hash.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn pack(&mut self, hash: &str) -> Result<Option<StoredPack>> {
        let row = sqlx::query("SELECT * FROM rule_packs WHERE hash = $1")
            .bind(hash)
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a rule pack"))?;
        row.map(|row| {
            let row = Row(&row);
            Ok(StoredPack { hash: row.text("hash")?, files: row.json("files")?, stored_at: row.moment("stored_at")? })
        })
        .transpose()
    }

    /// Activates a kept pack.
    ///
    /// # Errors
    /// If the pack is not kept.
    pub async fn use_pack(&mut self, hash: &str, now: Timestamp) -> Result<()> {
        sqlx::query(
            "INSERT INTO rule_pack_uses (number, hash, at) \
             SELECT COALESCE(MAX(number), 0) + 1, CAST($1 AS TEXT), CAST($2 AS BIGINT) FROM rule_pack_uses",
        )
        .bind(hash)
        .bind(micros(now))
        .execute(&mut *self.inner)
        .await
        .map_err(failed("activating a rule pack"))?;
        Ok(())
    }

    /// Which packs were activated when, newest first; the first is active.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn pack_uses(&mut self, limit: u32) -> Result<Vec<PackUse>> {
        let rows = sqlx::query("SELECT hash, at FROM rule_pack_uses ORDER BY number DESC LIMIT $1")
            .bind(i64::from(limit))
            .fetch_all(&mut *self.inner)
            .await
            .map_err(failed("reading rule pack uses"))?;
        rows.iter().map(|row| Ok(PackUse { hash: Row(row).text("hash")?, at: Row(row).moment("at")? })).collect()
    }
}

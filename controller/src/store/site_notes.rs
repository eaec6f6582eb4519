//! Small notes about the site as a whole, by name.

use super::{Result, Tx, error::failed, row::Row};

impl Tx {
    /// What was last noted of the site under a name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn site_note(&mut self, name: &str) -> Result<Option<String>> {
        let row = sqlx::query("SELECT value FROM site_notes WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut *self.inner)
            .await
            .map_err(failed("reading a note of the site"))?;
        row.map(|row| Row(&row).text("value")).transpose()
    }

    /// Notes something of the site.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn put_site_note(&mut self, name: &str, value: &str) -> Result<()> {
        sqlx::query(
            "INSERT INTO site_notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(name)
        .bind(value)
        .execute(&mut *self.inner)
        .await
        .map_err(failed("noting something of the site"))?;
        Ok(())
    }
}

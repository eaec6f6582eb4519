use nom::{
    IResult, Parser,
    bytes::complete::{tag_no_case, take_while, take_while_m_n},
    character::complete::space0,
    combinator::{all_consuming, rest},
    multi::many1,
    sequence::{pair, preceded},
};
use serde::Serialize;

use super::fault::{ParseFault, excerpt};

const OUTPUT: &str = "nv show";

/// What `nv show` said: data, or why there is none. NVUE prints both on standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum NvAnswer<'a> {
    /// Something to read further.
    Data(&'a str),
    /// There is such an object, and it is empty.
    Empty,
    /// There is no such object: for BGP that means that no daemon runs or nothing is configured.
    Missing,
    /// NVUE's daemon cannot be reached.
    Unreachable(String),
    /// NVUE does not take the question; its words.
    Refused(String),
}

/// Tells data from the words that NVUE prints instead.
#[must_use]
pub fn nv_answer(text: &str) -> NvAnswer<'_> {
    let said = text.trim();
    let complaint: IResult<&str, &str> = preceded((tag_no_case("error:"), space0), rest).parse(said);
    match complaint {
        Ok((_, words)) if words.starts_with("The requested item does not exist") => NvAnswer::Missing,
        Ok((_, words)) if words.starts_with("Could not connect to nvued") => NvAnswer::Unreachable(first_line(words)),
        Ok((_, words)) => NvAnswer::Refused(first_line(words)),
        Err(_) if said.is_empty() || matches!(said, "{}" | "[]") => NvAnswer::Empty,
        Err(_) => NvAnswer::Data(text),
    }
}

fn first_line(words: &str) -> String {
    excerpt(words.lines().next().unwrap_or_default())
}

/// One table of `nv show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvTable {
    /// Title that is underlined with `=`, of a table under another one.
    pub title: Option<String>,
    /// Names of the columns; empty for one without a name, as the first of a property tree is.
    pub columns: Vec<String>,
    /// Cells, one for each column; none where nothing is printed, which is not the same as an empty text.
    pub rows: Vec<NvRow>,
    /// The text between the table before and this one: it explains columns, and sometimes units.
    pub legend: String,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvRow {
    /// How far the first cell is indented, in blanks.
    pub indent: usize,
    /// The cells.
    pub cells: Vec<Option<String>>,
}

/// One property of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvProperty {
    /// Names from the top, joined by `/`; a member of a collection has its brackets: `link/[flag]`.
    pub path: String,
    /// Values by column (`operational`, `applied`, `pending`), those that are printed.
    pub values: Vec<(String, String)>,
}

impl NvTable {
    /// The place of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// The rows as properties, nested by their indentation.
    #[must_use]
    pub fn properties(&self) -> Vec<NvProperty> {
        let named = self.columns.first().is_some_and(String::is_empty);
        let mut above: Vec<(usize, &str)> = Vec::new();
        let mut properties = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let name = row.cells.first().and_then(Option::as_deref).filter(|_| named).unwrap_or_default();
            while above.last().is_some_and(|(indent, _)| *indent >= row.indent) {
                above.pop();
            }
            above.push((row.indent, name));
            let cells = self.columns.iter().zip(&row.cells).skip(usize::from(named));
            properties.push(NvProperty {
                path: above.iter().map(|(_, name)| *name).collect::<Vec<_>>().join("/"),
                values: cells.filter_map(|(column, cell)| Some((column.clone(), cell.clone()?))).collect(),
            });
        }
        properties
    }
}

/// Reads the tables of `nv show`, whichever columns they have. Columns are where the rulers of dashes are; their names are
/// what stands above.
///
/// # Errors
/// [`ParseFault`] where there is no ruler at all.
pub fn nv_tables(text: &str) -> Result<Vec<NvTable>, ParseFault> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tables: Vec<NvTable> = Vec::new();
    let mut legend: Vec<&str> = Vec::new();
    let mut number = 0;
    while let Some(&line) = lines.get(number) {
        let Ok((_, ruler)) = ruler(line) else {
            legend.push(line);
            number += 1;
            continue;
        };
        let head = header_lines(&legend);
        let names = legend.split_off(legend.len() - head);
        let title = take_title(&mut legend);
        let columns: Vec<String> = (0..ruler.len()).map(|column| column_name(&ruler, column, &names)).collect();
        number += 1;
        let mut rows = Vec::new();
        while let Some(&row) = lines.get(number).filter(|row| !row.trim().is_empty()) {
            rows.push(split(row, &ruler));
            number += 1;
        }
        let words: Vec<&str> = legend.drain(..).map(str::trim).filter(|line| !line.is_empty()).collect();
        tables.push(NvTable { title, columns, rows, legend: words.join(" ") });
    }
    if tables.is_empty() {
        return Err(ParseFault::at(OUTPUT, text, text.trim_start(), "a table with a ruler of dashes"));
    }
    Ok(tables)
}

/// Where a column starts and ends, in characters.
type Span = (usize, usize);

/// A line of dashes and blanks: the span of each group of dashes.
fn ruler(line: &str) -> IResult<&str, Vec<Span>> {
    let dashes = take_while_m_n(2, usize::MAX, |c| c == '-');
    let blanks = take_while(|c| c == ' ');
    let (rest, groups) = all_consuming((many1(pair(blanks, dashes)), space0)).parse(line)?;
    let mut at = 0;
    let spans = groups.0.into_iter().map(|(blanks, dashes): (&str, &str)| {
        let start = at + blanks.len();
        at = start + dashes.len();
        (start, at)
    });
    Ok((rest, spans.collect()))
}

/// How many of the last lines name columns: one, or two on a narrow terminal.
fn header_lines(lines: &[&str]) -> usize {
    let is_head = |line: &&&str| !line.trim().is_empty() && !line.trim().bytes().all(|byte| byte == b'=');
    lines.iter().rev().take_while(is_head).take(2).count()
}

/// A title and its underline at the end of the lines before a header.
fn take_title(lines: &mut Vec<&str>) -> Option<String> {
    let underline = lines.iter().rposition(|line| !line.trim().is_empty())?;
    if underline == 0 || !lines.get(underline)?.trim().bytes().all(|byte| byte == b'=') {
        return None;
    }
    let title = lines.get(underline - 1)?.trim().to_owned();
    lines.truncate(underline - 1);
    Some(title).filter(|title| !title.is_empty())
}

/// The name above a column: the header's words that overlap it most. Headers may be centred, and wider than the ruler.
fn column_name(ruler: &[Span], column: usize, header: &[&str]) -> String {
    let mut words = Vec::new();
    for line in header {
        for Chunk { place: start, text: word, .. } in chunks(line, 1) {
            let end = start + word.chars().count();
            let overlap = |span: &Span| end.min(span.1).saturating_sub(start.max(span.0));
            let best = (0..ruler.len()).rev().max_by_key(|&at| ruler.get(at).map_or(0, overlap));
            if best == Some(column) && ruler.get(column).is_some_and(|span| overlap(span) > 0) {
                words.push(word);
            }
        }
    }
    words.join(" ")
}

/// The cells of a row. A cell may be wider than its column, and what is wider pushes the next ones to the right.
fn split(row: &str, ruler: &[Span]) -> NvRow {
    // Byte offsets of the first word in each column.
    let mut starts: Vec<Option<usize>> = vec![None; ruler.len()];
    let words = chunks(row, 2);
    for word in &words {
        let column = ruler.iter().rposition(|span| span.0 <= word.place).unwrap_or(0);
        // The first column is indented by nesting; any other starts where its ruler does or behind a wide neighbour.
        if let Some(first @ None) = starts.get_mut(column) {
            *first = Some(word.offset);
        }
    }
    let cells = (0..ruler.len()).map(|column| {
        let start = (*starts.get(column)?)?;
        let end = starts.get(column + 1..)?.iter().flatten().next().copied().unwrap_or(row.len());
        Some(row.get(start..end)?.trim_end().to_owned())
    });
    NvRow { indent: words.first().map_or(0, |word| word.place), cells: cells.collect() }
}

/// Some words that belong together.
struct Chunk<'t> {
    /// Where it starts, in characters.
    place: usize,
    /// Where it starts, in bytes.
    offset: usize,
    text: &'t str,
}

/// Words with their places; fewer than `gap` blanks do not part them.
fn chunks(line: &str, gap: usize) -> Vec<Chunk<'_>> {
    let mut found: Vec<Chunk<'_>> = Vec::new();
    let (mut blanks, mut end) = (gap, 0);
    for (place, (offset, character)) in line.char_indices().enumerate() {
        if character.is_whitespace() {
            blanks += 1;
            continue;
        }
        if blanks >= gap {
            if let Some(last) = found.last_mut() {
                last.text = line.get(last.offset..end).unwrap_or_default();
            }
            found.push(Chunk { place, offset, text: "" });
        }
        (blanks, end) = (0, offset + character.len_utf8());
    }
    if let Some(last) = found.last_mut() {
        last.text = line.get(last.offset..end).unwrap_or_default();
    }
    found
}

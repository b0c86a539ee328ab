//! Generator of magic numbers and attack table, for the test that writes and checks the files. Uses only the standard
//! library.

/// Directions of a rook, as steps of (file, rank).
pub(super) const ROOK: [(i32, i32); 4] = [(0, 1), (1, 0), (0, -1), (-1, 0)];
/// Directions of a bishop.
pub(super) const BISHOP: [(i32, i32); 4] = [(1, 1), (1, -1), (-1, -1), (-1, 1)];

/// Generated tables.
pub(super) struct Tables {
    /// Rook entries of the 64 squares, then bishop entries: mask, magic number, offset, shift.
    pub entries: Vec<(u64, u64, usize, u32)>,
    /// Attack sets, indexed by the entries.
    pub attacks: Vec<u64>,
}

/// The squares attacked by a slider from `square`, including the first blocker in each direction.
pub(super) fn slide(square: usize, directions: &[(i32, i32)], occupied: u64) -> u64 {
    let mut attacks = 0;
    for &(right, up) in directions {
        let (mut file, mut rank) = (square as i32 % 8 + right, square as i32 / 8 + up);
        while (0..8).contains(&file) && (0..8).contains(&rank) {
            let bit = 1 << (rank * 8 + file);
            attacks |= bit;
            if occupied & bit != 0 {
                break;
            }
            (file, rank) = (file + right, rank + up);
        }
    }
    attacks
}

/// Squares whose occupancy matters to a slider: its rays on the empty board without the last squares.
fn relevant(square: usize, directions: &[(i32, i32)]) -> u64 {
    let mut mask = 0;
    for &(right, up) in directions {
        let (mut file, mut rank) = (square as i32 % 8 + right, square as i32 / 8 + up);
        while (0..8).contains(&(file + right)) && (0..8).contains(&(rank + up)) {
            mask |= 1 << (rank * 8 + file);
            (file, rank) = (file + right, rank + up);
        }
    }
    mask
}

/// A xorshift* generator: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number with few bits set; these are more often magic.
    fn sparse(&mut self) -> u64 {
        self.next() & self.next() & self.next()
    }
}

/// All subsets of `mask`, the empty one first.
fn subsets(mask: u64) -> impl Iterator<Item = u64> {
    let mut next = Some(0u64);
    std::iter::from_fn(move || {
        let subset = next?;
        next = Some(subset.wrapping_sub(mask) & mask).filter(|&following| following != 0);
        Some(subset)
    })
}

/// Searches for a magic number that maps every occupancy of `mask` to an index without a harmful collision. Returns
/// it with the attack sets by index.
fn find(
    square: usize,
    directions: &[(i32, i32)],
    mask: u64,
    random: &mut Random,
) -> (u64, Vec<u64>) {
    let bits = mask.count_ones();
    let cases: Vec<(u64, u64)> = subsets(mask)
        .map(|occupied| (occupied, slide(square, directions, occupied)))
        .collect();
    // No attack set is empty, so 0 marks a free slot.
    let mut table = vec![0u64; 1 << bits];
    loop {
        let magic = random.sparse();
        if (mask.wrapping_mul(magic) >> 56).count_ones() < 6 {
            continue;
        }
        table.fill(0);
        let fits = cases.iter().all(|&(occupied, attacks)| {
            let place = &mut table[(occupied.wrapping_mul(magic) >> (64 - bits)) as usize];
            let fits = *place == 0 || *place == attacks;
            *place = attacks;
            fits
        });
        if fits {
            return (magic, table);
        }
    }
}

/// Generates all tables; deterministic.
pub(super) fn generate() -> Tables {
    let mut random = Random(0x4b6e_6967_6874_7761);
    let mut tables = Tables {
        entries: Vec::new(),
        attacks: Vec::new(),
    };
    for directions in [ROOK, BISHOP] {
        for square in 0..64 {
            let mask = relevant(square, &directions);
            let (magic, attacks) = find(square, &directions, mask, &mut random);
            tables
                .entries
                .push((mask, magic, tables.attacks.len(), 64 - mask.count_ones()));
            tables.attacks.extend(attacks);
        }
    }
    tables
}

/// Rust source of the entries.
pub(super) fn entries_text(tables: &Tables) -> String {
    let mut text = String::from(
        "// Made by `WRITE_TABLES=1 cargo test chess::magic`; the same test holds it to that.\n\
         // Mask, magic number, offset and shift, for each square of the rook, then of the bishop.\n[\n",
    );
    for (mask, magic, offset, shift) in &tables.entries {
        text += &format!(
            "    Magic {{ mask: {mask:#018x}, factor: {magic:#018x}, offset: {offset}, shift: {shift} }},\n"
        );
    }
    text + "]\n"
}

/// The attack table as little-endian bytes.
pub(super) fn attack_bytes(tables: &Tables) -> Vec<u8> {
    tables
        .attacks
        .iter()
        .flat_map(|attacks| attacks.to_le_bytes())
        .collect()
}

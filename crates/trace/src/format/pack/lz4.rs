//! LZ4 blocks: whole, and as much as is left of one that was cut short.

/// Appends one LZ4 block.
pub(crate) fn compress(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(bytes.len()), 0);
    let len = lz4_flex::block::compress_into(bytes, &mut out[start..]).expect("the output has the maximal size");
    out.truncate(start + len);
}

/// Unpacks one LZ4 block of known length.
pub(crate) fn decompress(stored: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    // No LZ4 block grows more than 255-fold: refuse before allocating.
    if raw_len > stored.len().saturating_mul(255).saturating_add(64) {
        return Err("impossible length");
    }
    // What is there from before is overwritten.
    out.resize(raw_len, 0);
    match lz4_flex::block::decompress_into(stored, out) {
        Ok(len) if len == raw_len => Ok(()),
        _ => Err("not a whole LZ4 block"),
    }
}

/// Appends one LZ4 block, or the bytes themselves if that is no longer; returns the stored length.
pub(super) fn compress_if_smaller(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    const SAMPLE: usize = 4 << 10;
    let start = out.len();
    // LZ4 takes longest over values that hardly repeat, for little gain: look at a piece from the middle first, and
    // save at least a third or nothing.
    let mut worth_it = true;
    if bytes.len() >= 8 * SAMPLE {
        compress(&bytes[bytes.len() / 2..][..SAMPLE], out);
        worth_it = out.len() - start < SAMPLE - SAMPLE / 3;
        out.truncate(start);
    }
    if worth_it {
        compress(bytes, out);
    }
    if !worth_it || out.len() - start >= bytes.len() {
        out.truncate(start);
        out.extend_from_slice(bytes);
    }
    out.len() - start
}

/// Undoes [`compress_if_smaller`].
pub(super) fn restore(stored: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    if stored.len() == len {
        out.clear();
        out.extend_from_slice(stored);
        return Ok(());
    }
    decompress(stored, len, out)
}

/// Undoes [`compress_if_smaller`] for what is there of a block of `stored_len` bytes.
pub(super) fn restore_prefix(stored: &[u8], stored_len: usize, len: usize, out: &mut Vec<u8>) {
    out.clear();
    if stored_len == len {
        out.extend_from_slice(&stored[..len.min(stored.len())]);
    } else {
        decompress_prefix(stored, len, out);
    }
}

fn decompress_prefix(stored: &[u8], limit: usize, out: &mut Vec<u8>) {
    let mut bytes = stored.iter().copied();
    let extended = |base: u8, bytes: &mut dyn Iterator<Item = u8>| -> Option<usize> {
        let mut len = base as usize;
        if base == 15 {
            loop {
                let more = bytes.next()?;
                len += more as usize;
                if more != 255 {
                    break;
                }
            }
        }
        Some(len)
    };
    let mut step = || -> Option<()> {
        let token = bytes.next()?;
        let literals = extended(token >> 4, &mut bytes)?;
        for _ in 0..literals {
            if out.len() == limit {
                return None;
            }
            out.push(bytes.next()?);
        }
        let offset = u16::from_le_bytes([bytes.next()?, bytes.next()?]) as usize;
        let matched = extended(token & 15, &mut bytes)? + 4;
        let from = out.len().checked_sub(offset)?;
        if offset == 0 {
            return None;
        }
        for i in 0..matched {
            if out.len() == limit {
                return None;
            }
            out.push(out[from + i]);
        }
        Some(())
    };
    while step().is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_block_gives_what_is_before_the_cut() {
        let bytes: Vec<u8> = (0..5000u32).flat_map(|i| [(i / 7) as u8, (i * i) as u8, 0, 0]).collect();
        let mut block = Vec::new();
        compress(&bytes, &mut block);
        let mut out = Vec::new();
        let mut last = 0;
        for cut in 0..=block.len() {
            restore_prefix(&block[..cut], block.len(), bytes.len(), &mut out);
            assert_eq!(out, bytes[..out.len()], "cut at {cut}");
            assert!(out.len() >= last);
            last = out.len();
        }
        assert_eq!(last, bytes.len());
    }
}

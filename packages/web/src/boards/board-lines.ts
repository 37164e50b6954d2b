/** A line of a board. */
export interface Line {
  readonly rank: number;
  readonly wallet: string;
  readonly name: string | null;
  readonly score: number;
}

/** A change of a board, as `score_update` tells it: score and rank are null when the wallet left the board. */
export interface Change {
  readonly wallet: string;
  readonly score: number | null;
  readonly rank: number | null;
}

/** The first lines of a board after changes. */
export interface ChangedBoard {
  readonly lines: readonly Line[];
  /** Whether the page must read the board again: a name is unknown, or a line moved up from below the last shown one. */
  readonly isIncomplete: boolean;
}

/**
 * Applies changes to the first lines of a board and ranks them by score, as the service does: equal scores share a rank, and are sorted by address,
 * descending.
 * @param limit number of lines that are shown
 */
export function applyChanges(lines: readonly Line[], changes: Iterable<Change>, limit: number): ChangedBoard {
  const byWallet = new Map(lines.map((line) => [line.wallet, line]));
  const wasFull = lines.length >= limit;
  // A wallet below this score may be overtaken by one that the page does not know.
  const floor = wasFull ? (lines.at(-1)?.score ?? 0) : Number.NEGATIVE_INFINITY;
  let isIncomplete = false;
  for (const { wallet, score } of changes) {
    const known = byWallet.get(wallet);
    if (score === null) byWallet.delete(wallet);
    else if (known) byWallet.set(wallet, { ...known, score });
    else if (score >= floor) {
      byWallet.set(wallet, { rank: 0, wallet, name: null, score });
      isIncomplete = true;
    }
    if (known && wasFull && (score === null || score < floor)) isIncomplete = true;
  }
  return { lines: ranked([...byWallet.values()]).slice(0, limit), isIncomplete };
}

function ranked(lines: Line[]): Line[] {
  const sorted = lines.sort((a, b) => b.score - a.score || (a.wallet < b.wallet ? 1 : -1));
  let rank = 0;
  return sorted.map((line, i) => {
    if (line.score !== sorted[i - 1]?.score) rank = i + 1;
    return line.rank === rank ? line : { ...line, rank };
  });
}

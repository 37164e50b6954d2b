export type Mode = 'regular' | 'beta';

/** Games of the histories. All have scores from 0 to 10,000 and give 100 points for the best one. */
export const GAMES = {
  /** Needs no play, and its points earn no rewards. */
  open: { verification: 'none', direction: 'higher' },
  /** Holds scores above 2,000 per second. */
  strict: { verification: 'play', direction: 'higher' },
  /** The lowest score is the best one. */
  golf: { verification: 'play', direction: 'lower' },
} as const;
export type GameId = keyof typeof GAMES;
export const GAME_IDS = ['open', 'strict', 'golf'] as const;

/** Maximum points per wallet and UTC day: in one game, in all games, from referrals. */
export const CAPS = { game: 150, all: 250, referrals: 25 } as const;
/** Raw score per second above which `strict` holds a score. A play of a test lasts less than a second. */
export const HELD_ABOVE = 2_000;

/** A ledger row. `cause` is the id of the score, quest and window, conversion, adjustment, or a banned wallet with a number. */
export interface Row {
  readonly wallet: string;
  readonly mode: Mode;
  readonly source: 'score' | 'ban' | 'quest' | 'conversion' | 'adjustment';
  readonly kind: 'game' | 'quest' | 'referral' | 'conversion' | 'adjustment';
  readonly reason: string;
  readonly cause: string;
  readonly points: number;
  readonly rewards: boolean;
  readonly day: number;
  /** Only in rows of the kind `game`. */
  readonly gameId?: GameId;
  /** The referred wallet; only in rows of the kind `referral`. */
  readonly referred?: string;
}

export interface Score {
  readonly id: string;
  readonly wallet: string;
  readonly gameId: GameId;
  readonly raw: number;
  readonly normalized: number;
  readonly mode: Mode;
  status: 'accepted' | 'held' | 'rejected' | 'voided';
  points: number;
  day: number;
  restored: boolean;
  /** Whether the ban of the wallet rejected the held score. */
  rejectedByBan?: boolean;
}

export const sum = (rows: readonly { readonly points: number }[]): number => rows.reduce((all, { points }) => all + points, 0);

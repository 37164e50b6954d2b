import { z } from 'zod';
import { canonicalize } from '../canonical.ts';
import { Wallet } from '../scalars.ts';
import { hashOfParts, Millisecond, millis, RoundId, toHex, Units, utf8 } from './bytes.ts';

/**
 * Default waiting times, seconds. The configuration rejects lower values in production.
 * `LEAD_SEC`: minimum time from the signing of a commitment to its beacon round.
 * `MARGIN_SEC`: minimum time from the commitment, as the chain's clock tells it, to its beacon round. The draws account holds the margin.
 */
export const LEAD_SEC = 180;
export const MARGIN_SEC = 60;
/** Longest accepted `commitWithinSec`, seconds. */
export const MAX_COMMIT_WITHIN_SEC = 120;

/** Maximum value of a number in an entry. The leaf of the entry stores each number in one byte. */
export const MAX_RANGE = 255;
const MAX_PRIZES = 100;
const DAY_SEC = 86_400;

/** A prize: the mint of a token, and an amount in base units. */
export const Prize = z.strictObject({ amount: Units, mint: Wallet });
export type Prize = z.output<typeof Prize>;

/** A prize of a place. Place 1 is the best. */
export const PlacedPrize = z.strictObject({ place: z.int().min(1).max(MAX_PRIZES), ...Prize.shape });
export type PlacedPrize = z.output<typeof PlacedPrize>;

/** Conditions that a wallet must meet when it enters. A condition that is null does not apply. */
export const EntryRules = z.strictObject({
  /** The wallet holds at least this amount of the token. */
  minTokenBalance: Prize.nullable(),
  /** The wallet has at least this many accepted scores. */
  minAcceptedScores: z.int().min(1).max(1_000_000).nullable(),
  /** The wallet has linked an account of this network before the round opened. */
  linkedAccount: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
    .nullable(),
  /** The wallet signed in for the first time before this instant. */
  signedInBefore: Millisecond.nullable(),
});
export type EntryRules = z.output<typeof EntryRules>;

/** The rules of a round that anybody can enter. */
export const NO_ENTRY_RULES: EntryRules = { minTokenBalance: null, minAcceptedScores: null, linkedAccount: null, signedInBefore: null };

const shared = {
  version: z.literal(2),
  round: RoundId,
  entryRules: EntryRules,
  /** Entries are accepted from `opensAt` until just before `closesAt`. */
  opensAt: Millisecond,
  closesAt: Millisecond.meta({ example: '2026-11-21T13:00:00.000Z' }),
  /** Lead, seconds. The beacon round is the first beacon round that is published at least this long after the commitment is signed. */
  leadSec: z.int().min(1).max(DAY_SEC).meta({ example: LEAD_SEC }),
  /** Seconds from the close until the commitment must be on the chain. */
  commitWithinSec: z.int().min(1).max(MAX_COMMIT_WITHIN_SEC).meta({ example: MAX_COMMIT_WITHIN_SEC }),
  /** Seconds from the time of the beacon round until the result must be published. */
  drawWithinSec: z.int().min(1).max(DAY_SEC).meta({ example: 300 }),
  /** Seconds from the time of the beacon round until all prizes must be paid on the chain. */
  payWithinSec: z
    .int()
    .min(1)
    .max(7 * DAY_SEC)
    .meta({ example: DAY_SEC }),
  /** Address of the draws account: its program accepts the commitment, and its receipt key signs the statements about the round. */
  draws: Wallet,
  /** The wallet that pays the prizes and receives the payments for tickets. */
  treasury: Wallet,
  /** Genesis hash of the Solana cluster, base58. */
  genesisHash: Wallet.meta({ example: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' }),
};

const ChatParameters = z.strictObject({
  kind: z.literal('chat'),
  /** How many different numbers are drawn; each number is between 1 and `range`. An entry contains equally many numbers. */
  picks: z.int().min(1).max(MAX_RANGE).meta({ example: 5 }),
  range: z.int().min(1).max(MAX_RANGE).meta({ example: 50 }),
  /** The k-th winner gets the k-th prize. */
  prizes: z.array(PlacedPrize).min(1).max(MAX_PRIZES),
  maxEntriesPerWallet: z.int().min(1).max(1_000_000),
  ...shared,
});

const LegacyParameters = z.strictObject({
  kind: z.literal('legacy'),
  /** Price of a ticket, base units; "0" for free tickets. The prize of the only winner is the sum of the prices of all tickets. */
  ticketPrice: Units,
  /** Mint of the token that pays for tickets. */
  mint: Wallet,
  /** Maximum tickets of the round, and of a wallet; null means no limit. */
  maxTickets: z.int().min(1).max(0xffff_ffff).nullable(),
  maxTicketsPerWallet: z.int().min(1).max(0xffff_ffff).nullable(),
  ...shared,
});

/**
 * All inputs of a draw except the entries, the commitment and the beacon. Fields that are only displayed (for example the title) are excluded. The
 * parameters are frozen when the round opens.
 */
export const RoundParameters = z
  .discriminatedUnion('kind', [ChatParameters, LegacyParameters])
  .refine((parameters) => parameters.kind !== 'chat' || parameters.picks <= parameters.range, { path: ['picks'], error: 'must not exceed range' })
  .refine((parameters) => parameters.kind !== 'chat' || parameters.prizes.every(({ place }, i) => place === i + 1), {
    path: ['prizes'],
    error: 'must have the places 1, 2, 3, … in this order',
  })
  .refine(({ opensAt, closesAt }) => millis(opensAt) < millis(closesAt), { path: ['closesAt'], error: 'must come after opensAt' });
export type RoundParameters = z.output<typeof RoundParameters>;
export type ChatParameters = z.output<typeof ChatParameters>;
export type LegacyParameters = z.output<typeof LegacyParameters>;

const LABEL = 'coinop/parameters/1';

/**
 * Returns the SHA-256 over the length-prefixed parts "coinop/parameters/1" and the canonical JSON (RFC 8785) of the parameters: all their
 * fields and no others, times as 2026-11-21T12:00:00.000Z, amounts as decimal text.
 * @throws when the parameters do not match `RoundParameters`
 */
export function parametersHash(parameters: RoundParameters): string {
  const text = canonicalize(RoundParameters.parse(parameters));
  return toHex(hashOfParts(utf8(LABEL), utf8(text)));
}

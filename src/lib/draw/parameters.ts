import { z } from 'zod';
import { canonicalize } from '../canonical.ts';
import { Wallet } from '../scalars.ts';
import { hashOfParts, Millisecond, millis, RoundId, Units, utf8 } from './bytes.ts';

/**
 * Default waiting times, seconds. The configuration rejects lower values in production.
 * `LEAD_SEC`: minimum time from the signing of a commitment to its beacon round.
 * `MARGIN_SEC`: minimum time from the block of a commitment to its beacon round.
 */
export const LEAD_SEC = 180;
export const MARGIN_SEC = 60;

/** Maximum value of a number in an entry. The leaf of the entry stores each number in one byte. */
export const MAX_RANGE = 255;
const MAX_PRIZES = 100;

const timing = {
  /** Entries are accepted from `opensAt` until just before `closesAt`. */
  opensAt: Millisecond,
  closesAt: Millisecond.meta({ example: '2026-11-21T13:00:00.000Z' }),
  /** Lead, seconds. The beacon round is the first beacon round that is published at least this long after the commitment is signed. */
  leadSec: z.int().min(1).max(86_400).meta({ example: LEAD_SEC }),
  /** Margin, seconds. The time from the block of the commitment to the beacon round must be at least this long. */
  marginSec: z.int().min(0).max(86_400).meta({ example: MARGIN_SEC }),
};

/** A prize: the mint of a token, and an amount in base units. */
export const Prize = z.strictObject({ amount: Units, mint: Wallet });
export type Prize = z.output<typeof Prize>;

const ChatParameters = z.strictObject({
  version: z.literal(1),
  kind: z.literal('chat'),
  round: RoundId,
  /** How many different numbers are drawn; each number is between 1 and `range`. An entry contains equally many numbers. */
  picks: z.int().min(1).max(MAX_RANGE).meta({ example: 5 }),
  range: z.int().min(1).max(MAX_RANGE).meta({ example: 50 }),
  /** The k-th winner gets the k-th prize. */
  prizes: z.array(Prize).min(1).max(MAX_PRIZES),
  maxEntriesPerWallet: z.int().min(1).max(1_000_000),
  ...timing,
});

const LegacyParameters = z.strictObject({
  version: z.literal(1),
  kind: z.literal('legacy'),
  round: RoundId,
  /** Price of a ticket, base units; "0" for free tickets. The prize of the only winner is the sum of the prices of all tickets. */
  ticketPrice: Units,
  /** Mint of the token that pays for tickets, and the wallet that receives the payments. */
  mint: Wallet,
  treasury: Wallet,
  /** Maximum tickets of the round; null means no limit. */
  maxTickets: z.int().min(1).max(0xffff_ffff).nullable(),
  ...timing,
});

/**
 * All inputs of a draw except the entries, the commitment and the beacon. Fields that are only displayed (for example the title) are excluded. The
 * parameters are frozen when the round opens.
 */
export const RoundParameters = z
  .discriminatedUnion('kind', [ChatParameters, LegacyParameters])
  .refine((parameters) => parameters.kind !== 'chat' || parameters.picks <= parameters.range, { path: ['picks'], error: 'must not exceed range' })
  .refine(({ opensAt, closesAt }) => millis(opensAt) < millis(closesAt), { path: ['closesAt'], error: 'must come after opensAt' })
  .refine(({ leadSec, marginSec }) => marginSec < leadSec, { path: ['marginSec'], error: 'must be less than leadSec' });
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
  return hashOfParts(utf8(LABEL), utf8(text)).toString('hex');
}

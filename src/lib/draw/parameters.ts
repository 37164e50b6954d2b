import { z } from 'zod';
import { canonicalize } from '../canonical.ts';
import { Wallet } from '../scalars.ts';
import { hashOfParts, Millisecond, millis, RoundId, Units, utf8 } from './bytes.ts';

/** Seconds from the signing of a commitment to the beacon's round, and from its block to that round; production refuses less. */
export const LEAD_SEC = 180;
export const MARGIN_SEC = 60;

/** Numbers are bytes. */
export const MOST_RANGE = 255;
const MOST_PRIZES = 100;

const timing = {
  /** Entries are accepted from here on, and before `closesAt`. */
  opensAt: Millisecond,
  closesAt: Millisecond.meta({ example: '2026-11-21T13:00:00.000Z' }),
  /** The beacon's round is the first at or after the signing of the commitment and so many seconds. */
  leadSec: z.int().min(1).max(86_400).meta({ example: LEAD_SEC }),
  /** The block that holds the commitment is at least so many seconds older than the beacon's round. */
  marginSec: z.int().min(0).max(86_400).meta({ example: MARGIN_SEC }),
};

/** A prize: base units of a mint. */
export const Prize = z.strictObject({ amount: Units, mint: Wallet });
export type Prize = z.output<typeof Prize>;

const ChatParameters = z.strictObject({
  version: z.literal(1),
  kind: z.literal('chat'),
  round: RoundId,
  /** So many different numbers of 1 to `range` are drawn, and so many an entry has. */
  picks: z.int().min(1).max(MOST_RANGE).meta({ example: 5 }),
  range: z.int().min(1).max(MOST_RANGE).meta({ example: 50 }),
  /** The k-th winner gets the k-th. */
  prizes: z.array(Prize).min(1).max(MOST_PRIZES),
  maxEntriesPerWallet: z.int().min(1).max(1_000_000),
  ...timing,
});

const LegacyParameters = z.strictObject({
  version: z.literal(1),
  kind: z.literal('legacy'),
  round: RoundId,
  /** The one winner gets the price of all tickets; "0": they are free. */
  ticketPrice: Units,
  /** Of the token that tickets are paid in, and whose wallet they are paid to. */
  mint: Wallet,
  treasury: Wallet,
  /** null: as many as come. */
  maxTickets: z.int().min(1).max(0xffff_ffff).nullable(),
  ...timing,
});

/**
 * All that decides a draw besides entries, commitment and beacon: nothing that is only shown (such as a title), everything
 * else. They are frozen when the round opens.
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
 * `parametersHash` = SHA-256 over the length-prefixed parts "coinop/parameters/1" and the canonical JSON (RFC 8785) of the parameters:
 * all their fields, no other, times as 2026-11-21T12:00:00.000Z, amounts as decimal text.
 * @throws for what are no parameters
 */
export function parametersHash(parameters: RoundParameters): string {
  const text = canonicalize(RoundParameters.parse(parameters));
  return hashOfParts(utf8(LABEL), utf8(text)).toString('hex');
}

import { millis } from '#lib/draw/bytes.ts';
import { fail, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type Instruction, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeMint, decodeTokenAccount, memo, transferChecked } from '#platform/solana/tokens.ts';
import { readTicketBalance } from '../entry-rules.ts';
import { type RoundRow, readDatabaseClock, readRound } from '../rows.ts';
import { linksOf, prizesOf } from '../social/summary.ts';
import { readable, readableSum, readDecimals } from '../social/units.ts';
import { counted, readableTime, titleOf } from '../social/wording.ts';
import { ticketAccount } from './payment.ts';
import { findBrokenRule, selectRequested } from './request.ts';
import { MAX_TICKETS } from './schemas.ts';

/**
 * Time before the closing time of a round from which on no payment is prepared, ms. The user needs some seconds to sign, and the service some seconds
 * to find the payment before the round is frozen.
 */
const MARGIN_MS = 60_000;

/** Rules that only the wallet itself may read: anybody can request a payment for any wallet. */
const PRIVATE_RULES = /^(?:denyList|exclusion):/;

/** A legacy round as an offer of tickets, in words for users. */
export interface TicketOffer {
  readonly title: string;
  readonly description: string;
  /** Price of a ticket, for example `1.5 USDC`. */
  readonly price: string;
  /** URL of the card of the round. */
  readonly card: string;
  /** The reason why no ticket can be paid for now, one sentence; null when tickets are sold. */
  readonly refusal: string | null;
}

/** Reads a legacy round as an offer of tickets. @throws 404 when the round does not exist */
export async function readTicketOffer(app: App, id: string): Promise<TicketOffer> {
  const [round, now, decimals] = await Promise.all([requireRound(app, id), readDatabaseClock(app.db), readDecimals(app)]);
  const price = readable(BigInt(round.ticketPrice ?? 0), 'usdc', decimals);
  const pool = readableSum(prizesOf(round), decimals) ?? readable(0n, 'usdc', decimals);
  const sold = counted(round.entries, 'ticket is', 'tickets are');
  return {
    title: titleOf(round),
    description:
      `One ticket costs ${price}. One winner gets the sum of all ticket prices, at present ${pool}: ${sold} sold. ` +
      `The round closes at ${readableTime(round.closesAt ?? round.createdAt)}. A payment that arrives later is refunded.`,
    price,
    card: linksOf(app.config, round).card,
    refusal: saleRefusal(round, now),
  };
}

/**
 * Builds the instructions with which a wallet pays for a ticket of a legacy round: the transfer of the price to the treasury, and the memo. The service
 * finds the payment on the chain.
 * @throws 403 when the wallet does not meet the entry rules or the restrictions of paid rounds; 404 when the round does not exist; 409 when the round
 * sells no ticket now, or the wallet's token account does not hold the price or is frozen; 503 when the RPC node does not answer
 */
export async function buildTicketPurchase(app: App, id: string, wallet: string): Promise<Instruction[]> {
  const [round, now] = await Promise.all([requireRound(app, id), readDatabaseClock(app.db)]);
  const refusal = saleRefusal(round, now);
  if (refusal !== null) throw fail(409, refusal);
  const [requested] = await app.db.query(selectRequested, [id]);
  if (requested?.parameters.kind !== 'legacy') throw new Error(`round ${id} has no tickets`);
  const rule = await findBrokenRule(app, app.db, requested, wallet, await readTicketBalance(app, wallet, id));
  if (rule !== null) throw fail(403, PRIVATE_RULES.test(rule) ? 'restriction: the wallet may not buy tickets' : rule);

  const { parameters, price } = requested;
  const [owner, mint, to, amount] = [parseAddress(wallet), parseAddress(parameters.mint), ticketAccount(parameters), BigInt(price)];
  const from = associatedTokenAddress(owner, mint);
  const { accounts } = await app.chain.node.accounts([mint, from, to], 'confirmed');
  const decimals = decodeMint(accounts[0] ?? null)?.decimals;
  if (decimals === undefined) throw unavailable('the mint of the ticket price cannot be read from the chain');
  if (decodeTokenAccount(accounts[2] ?? null) === null) throw unavailable('the treasury has no token account for ticket prices', 60);
  const held = decodeTokenAccount(accounts[1] ?? null);
  const balance = held?.owner.equals(owner) ? held.amount : 0n;
  if (balance < amount) throw fail(409, `the wallet’s token account ${from.toBase58()} holds ${balance} base units, but a ticket costs ${amount}`);
  if (held?.frozen) throw fail(409, `the wallet’s token account ${from.toBase58()} is frozen`);
  return [transferChecked({ from, to, owner, mint, decimals, amount }), memo(id)];
}

async function requireRound(app: App, id: string): Promise<RoundRow> {
  const round = await readRound(app.db, id, 'legacy');
  if (!round) throw fail(404, 'no round that sells tickets has this id');
  return round;
}

/** Returns the reason why a round sells no paid ticket at a time (ms since 1970); null when it sells tickets. */
function saleRefusal({ state, closesAt, ticketPrice, entries, maxTickets }: RoundRow, now: number): string | null {
  const max = Math.min(maxTickets ?? MAX_TICKETS, MAX_TICKETS);
  if (state !== 'active' || closesAt === null || now >= millis(closesAt)) return 'the round is closed';
  if (ticketPrice === '0') return 'the tickets of the round are free; sign in to get one';
  if (entries >= max) return `all ${max} tickets of the round are taken`;
  return now >= millis(closesAt) - MARGIN_MS ? 'the round closes in less than a minute, so a payment would be late' : null;
}

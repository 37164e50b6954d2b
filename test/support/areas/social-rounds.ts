import { randomUUID } from 'node:crypto';
import { parametersHash } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import { chatParameters, finished, legacyParameters } from '#test/lib/draw/rounds.ts';
import { sql } from './boards.ts';

type State = 'pending' | 'active' | 'closing' | 'committed' | 'finalized' | 'void';

/** Fields of a round to store. Missing fields get the values of an ordinary chat round. */
export interface ShownRound {
  readonly kind?: 'chat' | 'legacy';
  readonly state: State;
  readonly title?: string;
  readonly entries?: number;
  readonly prizes?: readonly { amount: string; mint: 'usdc' | 'reward' }[];
  readonly picks?: number;
  readonly range?: number;
  readonly ticketPrice?: string;
  readonly numbers?: readonly number[];
  readonly ticket?: number;
  readonly winners?: readonly { wallet: string; amount: string }[];
  readonly voidReason?: string;
  readonly createdBy?: string;
  readonly closesAt?: string;
  readonly endedAt?: string;
  readonly createdAt?: string;
}

export const SEED = '9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0';
export const ROOT = '1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809';
export const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
export const AT = {
  created: '2026-11-21T11:40:00.000Z',
  opens: '2026-11-21T11:50:00.000Z',
  closes: '2026-11-21T12:00:00.000Z',
  due: '2026-11-21T12:03:00.000Z',
  ended: '2026-11-21T12:03:10.000Z',
};

const INSERT = `
  insert into rounds (id, kind, state, title, created_by, picks, range, max_entries_per_wallet, prizes, duration_sec, ticket_price, parameters, parameters_hash,
    opens_at, closes_at, entries, root, audit, beacon_round, beacon_due_at, void_reason, created_at, closed_at, ended_at, running_hash, announcement, closed)
  values ($1, $2, $3, $4, $23, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $24, $21, $22,
    $25, $26, $27)`;

/** Stores a round in a given state, with the fields that summaries and cards show. @returns its id */
export async function showRound(app: App, round: ShownRound): Promise<string> {
  const { kind = 'chat', state, title = 'Friday night draw', entries = 1_234, picks = 5, range = 50, ticketPrice = '1000000' } = round;
  const {
    prizes = [{ amount: '25000000', mint: 'usdc' }],
    voidReason = 'no-entries',
    createdBy = 'test',
    closesAt = AT.closes,
    endedAt = AT.ended,
    createdAt = AT.created,
  } = round;
  const id = randomUUID();
  const isChat = kind === 'chat';
  const isOpen = state === 'pending' || state === 'active';
  const isCommitted = state === 'committed' || state === 'finalized';
  const isOpened = state !== 'pending' || !isChat;
  const times = { round: id, opensAt: AT.opens, closesAt };
  const parameters = isChat ? chatParameters(times) : legacyParameters({ ...times, ticketPrice });
  const hash = parametersHash(parameters);
  const { announcement, closed } = finished(parameters, []);
  const audit = {
    draw: state === 'finalized' ? { seed: SEED, numbers: round.numbers ?? [], drawn: round.ticket === undefined ? [] : [round.ticket] } : null,
    winners:
      state === 'finalized'
        ? (round.winners ?? []).map(({ wallet, amount }, i) => ({ place: i + 1, index: i, wallet, prize: { amount, mint: WALLET } }))
        : null,
  };
  await sql(app, INSERT, [
    ...[id, kind, state, isChat ? title : null],
    ...(isChat ? [picks, range, 1, JSON.stringify(prizes), 600, null] : [null, null, null, null, null, ticketPrice]),
    ...(state === 'pending' && isChat ? [null, null, null, null] : [JSON.stringify(parameters), hash, AT.opens, closesAt]),
    ...[entries, isCommitted ? Buffer.from(ROOT, 'hex') : null, isOpen ? null : JSON.stringify(audit)],
    ...(isCommitted ? [12_345_678, AT.due] : [null, null]),
    ...[state === 'void' ? voidReason : null, isOpen ? null : closesAt, state === 'finalized' || state === 'void' ? endedAt : null],
    createdBy,
    createdAt,
    ...(isOpened ? [Buffer.from(hash, 'hex'), JSON.stringify(announcement), isOpen ? null : JSON.stringify(closed)] : [null, null, null]),
  ]);
  return id;
}

/** A drawn chat round with three winners. */
export const DRAWN: ShownRound = {
  state: 'finalized',
  numbers: [3, 7, 12, 30, 41],
  prizes: [
    { amount: '25000000', mint: 'usdc' },
    { amount: '10000000', mint: 'usdc' },
    { amount: '5000000000', mint: 'reward' },
  ],
  winners: [
    { wallet: WALLET, amount: '25000000' },
    { wallet: '7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5', amount: '10000000' },
    { wallet: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T', amount: '5000000000' },
  ],
};

/** A drawn legacy round. */
export const DRAWN_TICKET: ShownRound = {
  kind: 'legacy',
  state: 'finalized',
  entries: 120,
  ticket: 41,
  winners: [{ wallet: WALLET, amount: '120000000' }],
};

import { expect } from '@jest/globals';
import type { z } from 'zod';
import { openedColumns, openingOf, sharedParameters } from '#areas/lottery/create.ts';
import { readDraws } from '#areas/lottery/draws/account.ts';
import { type AcceptedEntry, acceptEntries, appendEntries, lockActiveRound, lockRound, readEntries } from '#areas/lottery/entries.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { postRound, postStart } from '#areas/lottery/routes/rounds.ts';
import { build, readDatabaseClock } from '#areas/lottery/rows.ts';
import type { ChatRoundView } from '#areas/lottery/schemas.ts';
import type { ChatRoundTerms } from '#areas/lottery/terms.ts';
import { Audit, type LandedCommitment } from '#lib/draw/audit.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import type { LegacyParameters } from '#lib/draw/parameters.ts';
import { verifyAudit } from '#lib/draw/verify.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { commitmentAddress, decodeCommitment } from '#platform/solana/draws/index.ts';
import { adminOf } from '../http/client.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { createWallet } from '../wallet.ts';
import { sql } from './boards.ts';

/** Terms under which every entry matches the one drawn number, so that only the tie-break decides the winners. */
export const EASY: z.input<typeof ChatRoundTerms> = {
  title: 'A quick one',
  picks: 1,
  range: 1,
  prizes: [
    { amount: '3000000', mint: 'reward' },
    { amount: '2000000', mint: 'usdc' },
  ],
  durationSec: 1,
};

/** Creates a chat round. */
export async function createRound(t: RewardsTest, terms: Partial<typeof EASY> = {}): Promise<ChatRoundView> {
  return (await adminOf(t).ok(postRound, { body: { ...EASY, ...terms } })).body;
}

/** Creates and starts a chat round. */
export async function startRound(t: RewardsTest, terms: Partial<typeof EASY> = {}): Promise<ChatRoundView> {
  const { id } = await createRound(t, terms);
  return (await adminOf(t).ok(postStart, { params: { id } })).body;
}

/** Enters the active round with new wallets in one transaction. @throws when an entry is refused */
export async function enter(t: Pick<RewardsTest, 'app'>, count: number): Promise<AcceptedEntry[]> {
  const candidates = Array.from({ length: count }, () => {
    const id = newId();
    return { id, wallet: createWallet().address, numbers: null, source: 'chat', messageId: id };
  });
  const answers = await t.app.tx(async (tx) => await acceptEntries(t.app, tx, await lockActiveRound(tx), candidates));
  return answers.map((answer) => {
    if ('entry' in answer) return answer.entry;
    throw new Error(answer.error);
  });
}

/**
 * Duration of a round that a test closes itself, seconds. The close states the closing time, and a commitment must not be much earlier than the close.
 */
export const LONG_SEC = 50;

/** Starts a round and enters it with a number of new wallets. @returns its id */
export async function openRound(t: RewardsTest, entries: number, terms: Partial<typeof EASY> = {}): Promise<string> {
  const { id } = await startRound(t, { durationSec: LONG_SEC, ...terms });
  await enter(t, entries);
  return id;
}

/** The stored fields of a round that tests check. */
export interface StoredRound {
  state: string;
  root: string | null;
  audit: string | null;
  reason: string | null;
  beaconRound: number | null;
}
export async function storedRound({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<StoredRound> {
  const [row] = await sql<StoredRound>(
    app,
    `select state, encode(root, 'hex') as root, audit, void_reason as reason, beacon_round::float8 as "beaconRound"
     from rounds where id = $1`,
    [id],
  );
  if (!row) throw new Error(`there is no round ${id}`);
  return row;
}

/** Reads the stored audit of a round. */
export async function auditOf({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<Audit> {
  const { audit } = await storedRound({ app }, id);
  return Audit.parse(JSON.parse(audit ?? 'null'));
}

/** Reads the commitment of a round from the chain; null when no finalized account exists. */
export async function landedOf(app: App, round: string): Promise<LandedCommitment | null> {
  const { drawsProgramId, drawsAddress, node } = app.chain;
  const address = commitmentAddress(drawsProgramId, drawsAddress, round);
  const found = decodeCommitment(drawsProgramId, (await node.account(address, 'finalized')).account);
  if (found === null) return null;
  const { beaconRound, slot, time, leaf } = found;
  const blockhash = (await node.block(slot))?.blockhash ?? null;
  return { account: address.toBase58(), beaconRound, slot, at: instantOf(time * 1_000), leaf, blockhash };
}

/** Returns the trust anchors of a verifier, without the commitment. */
export async function anchorsOf(app: App) {
  const { account, address } = await readDraws(app);
  return { beacon: await beaconOf(app).chain(), draws: { ...account, address: address.toBase58() } };
}

/** Verifies a round from its audit, its entries and the chain. @returns the audit */
export async function verified({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<Audit> {
  const audit = await auditOf({ app }, id);
  const { state } = await storedRound({ app }, id);
  // Until the service has recorded the commitment, its audit does not name the account.
  const landed = audit.commitment === null ? null : await landedOf(app, id);
  expect(verifyAudit(audit, await readEntries(app.db, id), { ...(await anchorsOf(app)), landed })).toEqual({ ok: true, state });
  return audit;
}

/** Reads the recorded commitments, ordered by slot. */
export const commitmentsOf = ({ app }: Pick<RewardsTest, 'app'>) =>
  sql<{ round: string; account: string; slot: number; beaconRound: number; leaf: string; signature: string | null }>(
    app,
    `select round::text, account, slot::float8 as slot, beacon_round::float8 as "beaconRound", encode(leaf, 'hex') as leaf, signature from commitments order by slot, round`,
  );

/** Closes a round now. */
export const closeNow = ({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<boolean> => app.tx((tx) => closeRound(app, tx, id));

/** Opens a legacy round of no wallet, so that no limit applies. It closes after `LONG_SEC`. */
export async function openLegacy({ app }: Pick<RewardsTest, 'app'>, ticketPrice: string, createdBy = 'test'): Promise<string> {
  const draws = await readDraws(app);
  return await app.tx(async (tx) => {
    const now = await readDatabaseClock(tx);
    const parameters: LegacyParameters = {
      ...{ kind: 'legacy', ticketPrice, mint: app.chain.usdcMint.toBase58(), maxTickets: null, maxTicketsPerWallet: null },
      ...sharedParameters(app, draws, newId(), now, now + 1_000 * LONG_SEC),
    };
    const columns = openedColumns(openingOf(app, parameters));
    const round = { id: parameters.round, kind: 'legacy', state: 'active', created_by: createdBy, ticket_price: ticketPrice } as const;
    await run(tx, build.insertInto('rounds').values({ ...round, ...columns }));
    return parameters.round;
  });
}

/** Adds confirmed tickets of new wallets to a legacy round. */
export async function addTickets({ app }: Pick<RewardsTest, 'app'>, id: string, tickets: number): Promise<AcceptedEntry[]> {
  return await app.tx(async (tx) => {
    const round = await lockRound(tx, id);
    if (!round) throw new Error(`round ${id} was not opened`);
    const ids = Array.from({ length: tickets }, () => newId());
    return await appendEntries(
      tx,
      round,
      ids.map((ticket) => ({ id: ticket, wallet: createWallet().address, numbers: [], source: 'chain', messageId: ticket })),
    );
  });
}

/** Reads the payments of a round's prizes. */
export const prizesOf = ({ app }: Pick<RewardsTest, 'app'>, id: string) =>
  sql<{ wallet: string; currency: string; amount: string; place: number; state: string }>(
    app,
    `select wallet, currency, amount::text, split_part(cause_id, ':', 2)::int as place, state from payments
     where cause_kind = 'prize' and cause_id like $1 || ':%' order by place`,
    [id],
  );

/** Reads the types of a round's events in order, without `new_entry`. */
export async function eventsOf({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<string[]> {
  const rows = await sql<{ type: string }>(app, `select type from outbox where payload->>'roundId' = $1 and type <> 'new_entry' order by id`, [id]);
  return rows.map(({ type }) => type);
}

/** Closes all active chat rounds. */
export async function endActive({ app }: Pick<RewardsTest, 'app'>): Promise<void> {
  const rows = await sql<{ id: string }>(app, `select id::text from rounds where kind = 'chat' and state = 'active'`);
  for (const { id } of rows) await closeNow({ app }, id);
}

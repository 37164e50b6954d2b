import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postFinalize, postTicket } from '#areas/lottery/legacy/routes.ts';
import { EntryProofView, EntryView, PayoutsOfRound, RootView } from '#areas/lottery/results-schemas.ts';
import { roundToCommit } from '#lib/draw/beacon-chain.ts';
import { verifyWithMerkletreejs } from '#lib/merkle.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { commitRound } from '#platform/solana/draws/index.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { sql } from '#test/support/areas/boards.ts';
import { sendMessage } from '#test/support/areas/chat.ts';
import { auditOf, startRound } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { openRound } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type RewardsTest, sendAs } from '#test/support/solana/claims.ts';
import { trustedOptions, verifyRound } from '#test/support/verify/verify-round.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let players: SignedIn[];
/** A drawn and paid chat round, and a file with the receipts of its entries. */
let drawn: { readonly id: string; readonly receipts: string };

beforeAll(async () => {
  t = await startRoundsTest();
  players = await Promise.all(Array.from({ length: 3 }, () => signIn(t)));
  const { id } = await startRound(t, { durationSec: 4 });
  const entered = await Promise.all(players.map((player) => sendMessage(player, '!enter')));
  expect(entered.map(({ status }) => status)).toEqual([201, 201, 201]);
  const receipts = join(tmpdir(), `receipts-${id}.json`);
  await writeFile(receipts, JSON.stringify(entered.map(({ body }) => body)));
  drawn = { id, receipts };
  await untilState(t, id, 'finalized', 60_000);
  await retryUntilPass(async () => {
    const { status } = await jsonOf(send(t, `/chat/round/${id}/payouts`), PayoutsOfRound);
    if (status !== 'completed') throw new Error(`the payouts are ${status}`);
  }, 60_000);
}, 120_000);
afterAll(() => t.close());

const hex = (text: string) => Buffer.from(text, 'hex');
const verify = (id: string, ...more: string[]) => verifyRound(t.url, id, ...trustedOptions(t), ...more);

test('a chat round of the service is true: its receipts, proofs, result and payments fit', async () => {
  const { id, receipts } = drawn;
  const path = `/chat/round/${id}`;
  const { root } = await jsonOf(send(t, `${path}/entries/root`), RootView);
  for (const entry of await jsonOf(send(t, `${path}/entries`), EntryView.array())) {
    const shown = await jsonOf(send(t, `${path}/entries/${entry.id}/proof`), EntryProofView);
    expect(verifyWithMerkletreejs(hex(root), hex(entry.leaf), shown.proof.map(hex))).toBe(true);
  }
  const { code, out, err } = await verify(id, '--receipt', receipts);
  expect([code, err, out]).toEqual([0, '', expect.stringMatching(/: true under development rules\n$/)]);
  expect(out).toMatch(/^true +receipts +3 receipts fit; 0 entries follow the last one$/m);
  expect(out).toMatch(/^true +payouts +all 2 prizes are paid by \w+$/m);
  expect(out).not.toContain('on the house’s word');
});

test('without --development a localnet proves nothing', async () => {
  const options = trustedOptions(t).filter((option) => option !== '--development');
  expect(await verifyRound(t.url, drawn.id, ...options)).toMatchObject({ code: 2, out: expect.stringMatching(/^unknown +development /m) });
});

test('a legacy round of tickets is true', async () => {
  const [creator, ...others] = players;
  if (!creator) throw new Error('there are no players');
  const { id } = await openRound(t, creator, { ticketPrice: '0' });
  for (const player of [creator, ...others]) expect((await clientOf(t, player).ok(postTicket, { params: { id }, body: {} })).status).toBe(201);
  await clientOf(t, creator).ok(postFinalize, { params: { id } });
  await untilState(t, id, 'finalized', 60_000);
  const { code, out } = await verify(id);
  expect([code, out]).toEqual([0, expect.stringMatching(/^true +result +the winning ticket is [012]$/m)]);
});

test('a stranger who names every account of a round in 3,000 transactions changes nothing', async () => {
  const { keys, control } = t.chain;
  const { commitment, parameters } = await auditOf(t, drawn.id);
  await control.strangers([commitment?.account ?? '', parameters.draws, parameters.treasury, keys.committer.publicKey.toBase58()], 3_000);
  expect(await verify(drawn.id, '--receipt', drawn.receipts)).toMatchObject({ code: 0 });
});

/** Commits a round with the committer's key, without the service. @returns the signature */
async function commitAs(round: string, leaf: string): Promise<string> {
  const { keys, env } = t.chain;
  const draws = parseAddress(env.DRAWS_ADDRESS ?? '');
  const program = keys.drawsProgram.publicKey;
  const beacon = await beaconOf(t.app).chain();
  const committer = keys.committer.publicKey;
  const beaconRound = roundToCommit(beacon, Date.now(), 5);
  return await sendAs(t, keys.committer, [commitRound({ program, payer: committer, committer, draws, roundId: round, leaf, beaconRound })]);
}

test('a commitment that somebody else makes with the committer’s key is noticed, and a committed round has no second one', async () => {
  const [player] = players;
  if (!player) throw new Error('there are no players');
  await t.chain.fundWallet(undefined, t.chain.keys.committer);
  const { id } = await startRound(t, { durationSec: 5 });
  const { body } = await sendMessage(player, '!enter');
  const receipt = join(tmpdir(), `receipts-${id}.json`);
  await writeFile(receipt, JSON.stringify(body));
  await commitAs(id, 'ab'.repeat(32));
  await retryUntilPass(async () => {
    const { code, out } = await verify(id, '--receipt', receipt);
    expect([code, out]).toEqual([1, expect.stringMatching(/^FALSE +commitment +the commitment is to other entries or rules/m)]);
  }, 30_000);
  await expect(commitAs(drawn.id, 'ab'.repeat(32))).rejects.toThrow('failed');
}, 60_000);

/** Changes of the database behind the service, each with the SQL that takes it back, and the check that names it. */
const CHANGES: Readonly<Record<string, readonly [change: string, undo: string, check: RegExp]>> = {
  'the source of an entry': [
    `update entries set source = 'bridge' where round = $1 and index = 1`,
    `update entries set source = 'chat' where round = $1 and index = 1`,
    /^FALSE +(?:entries|receipts) /m,
  ],
  'the winner in the audit': [
    `update rounds set audit = jsonb_set(audit::jsonb, '{winners,0,index}', '7')::text where id = $1`,
    `update rounds set audit = $2 where id = $1`,
    /^FALSE +result +winners/m,
  ],
  'the commitment in the audit': [
    `update rounds set audit = jsonb_set(audit::jsonb, '{commitment,beaconRound}', '7')::text where id = $1`,
    `update rounds set audit = $2 where id = $1`,
    /^FALSE +result +commitment/m,
  ],
};

test('a database that is changed behind the service is noticed', async () => {
  // The owner of a database can switch off the triggers that protect entries and rounds.
  for (const table of ['rounds', 'entries']) await sql(t.app, `alter table ${table} disable trigger user`);
  const [row] = await sql<{ audit: string }>(t.app, 'select audit from rounds where id = $1', [drawn.id]);
  for (const [name, [change, undo, check]] of Object.entries(CHANGES)) {
    await sql(t.app, change, [drawn.id]);
    const { code, out } = await verify(drawn.id, '--receipt', drawn.receipts);
    expect([name, code, out]).toEqual([name, 1, expect.stringMatching(check)]);
    await sql(t.app, undo, undo.includes('$2') ? [drawn.id, row?.audit ?? ''] : [drawn.id]);
  }
  for (const table of ['rounds', 'entries']) await sql(t.app, `alter table ${table} enable trigger user`);
  expect(await verify(drawn.id)).toMatchObject({ code: 0 });
}, 60_000);

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { recordOpening } from '#areas/rewards/claims/token-accounts.ts';
import { claim } from '#areas/rewards/claims/transaction-type.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { insertComputedEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t?.close());

test('a claim whose simulation fails waits for a final state, fails when its epoch is expired, or is left to the rules of all transactions', async () => {
  const draft = { do: 'sign', feePayer: 'feePayer', instructions: [] } as const;
  const outcomeOf = async (code: number | null, instruction: number | null = 1) =>
    await claim.simulationFailed?.(t.app, 'a claim', { name: 'InstructionError', message: 'custom program error', instruction, code }, draft);
  const [notOpen, expired, badProof, alreadyClaimed, frozen] = [6_009, 6_019, 6_022, 6_023, 6_027] as const;
  expect(await outcomeOf(alreadyClaimed)).toMatchObject({ do: 'wait', reason: 'the claim is already paid' });
  expect(await outcomeOf(notOpen)).toMatchObject({ do: 'wait', reason: 'the epoch is settled or closed' });
  expect(await outcomeOf(frozen)).toMatchObject({ do: 'wait', reason: 'the wallet’s token account is frozen' });
  expect(await outcomeOf(expired)).toMatchObject({ do: 'fail', error: { message: 'the epoch is expired; its rewards cannot be claimed any more' } });
  for (const outcome of [await outcomeOf(badProof), await outcomeOf(1), await outcomeOf(null), await outcomeOf(alreadyClaimed, null)])
    expect(outcome).toBeUndefined();
});

test('only one claim of a wallet opens its token account, also when two claims are signed at the same time', async () => {
  const wallet = createWallet().address;
  const ids: string[] = [];
  for (const epoch of [1, 2]) {
    await insertComputedEpoch(t.app, epoch, [[wallet, 5n]]);
    const rows = await sql<{ id: string }>(
      t.app,
      `insert into claims (epoch, index, wallet, amount, state, proof) values ($1, 0, $2, 5, 'queued', '') returning id::text`,
      [epoch, wallet],
    );
    ids.push(...rows.map(({ id }) => id));
  }
  const [first = '', second = ''] = ids;
  const record = (id: string) => t.app.tx((tx) => recordOpening(tx, id, 'mint'));
  await record(first);
  await record(first);
  await expect(record(second)).rejects.toMatchObject({ status: 409, message: 'another claim of the wallet is opening the token account' });
});

import { computeEpoch } from '#areas/rewards';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { deleteExclusion, getExclusions, postExclusions } from '#areas/rewards/review/routes.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, insertClosedDay, leavesOf, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';

/** Starts an application with reviews of 6 hours. No worker computes epochs, so that tests decide when an allocation is computed. */
export async function startReviews(): Promise<TestApp> {
  const t = await startTestApp({ env: { QUEUES: 'scores', REVIEW_HOURS: '6' } });
  await setRules(t);
  return t;
}

/** Returns the steps of tests of reviews. @param t returns the application, which is started later */
export function reviewSteps(t: () => TestApp) {
  let nextDay = DAY;
  /** Computes the first allocation of a new epoch, in which each wallet has 1, 2, 3, … points. */
  async function newEpoch(count: number): Promise<{ epoch: number; wallets: string[] }> {
    const epoch = nextDay++;
    const wallets = Array.from({ length: count }, randomWallet);
    await insertClosedDay(
      t().app,
      epoch,
      wallets.map((wallet, i) => ({ wallet, points: i + 1 })),
    );
    await trigger(t(), epoch, { Prefer: 'wait=0' });
    await computeEpoch(t().app, epoch);
    return { epoch, wallets };
  }

  const params = (epoch: number) => ({ params: { epoch: String(epoch) } });
  const exclude = (epoch: number, wallets: string[], reason = 'a bot') =>
    adminOf(t()).call(postExclusions, { ...params(epoch), body: { wallets, reason } });
  const readmit = (epoch: number, wallet: string) => adminOf(t()).call(deleteExclusion, { params: { epoch: String(epoch), wallet } });
  const exclusionsOf = async (epoch: number, allocation?: number) =>
    (await clientOf(t()).ok(getExclusions, { ...params(epoch), query: allocation === undefined ? {} : { allocation } })).body;
  const paidIn = async (epoch: number, query = '') => (await leavesOf(t(), epoch, query)).lines.map(({ wallet }) => wallet).sort();
  const ban = (wallets: readonly string[], banned = true) =>
    sql(
      t().app,
      `insert into players (wallet, banned_at) select w, case when $2 then app_now() end from unnest($1::text[]) w
      on conflict (wallet) do update set banned_at = excluded.banned_at, ban_reason = 'seen with 40 others'`,
      [wallets, banned],
    );
  const rootTransactions = (epoch: number) =>
    sql<{ state: string }>(t().app, `select state from chain_transactions where kind = 'epoch-root' and subject = $1`, [String(epoch)]);
  /** Signs the root of an epoch, as the submission does. */
  const signRoot = (epoch: number) => (app: TestApp['app']) =>
    app.tx(async (tx) => {
      const draft = { do: 'sign', feePayer: 'feePayer', signers: [], instructions: [] } as const;
      await epochRoot.signed?.(tx, [{ subject: String(epoch), draft, signature: '' }]);
      await tx.query(
        {
          text: `insert into chain_attempts (transaction_id, n, signature, bytes, signers, signed_slot, last_valid_height, spends, spend_day, preamble)
          select id, 1, 'signature ' || $1::int, '', '{}', 1, 1, '[]', 1, 0 from chain_transactions where kind = 'epoch-root' and subject = $1::int::text`,
        },
        [epoch],
      );
    });
  return { newEpoch, params, exclude, readmit, exclusionsOf, paidIn, ban, rootTransactions, signRoot };
}

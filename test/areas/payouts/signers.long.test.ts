import { expect, test } from '@jest/globals';
import { startTestApp } from '#test/support/app.ts';
import { enter, startRound } from '#test/support/areas/draws.ts';
import { balancesOf, createAllPayments, paymentRequest, untilPaid } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { FAST_DRAWS, untilState } from '#test/support/areas/rounds.ts';
import { startTestChain } from '#test/support/solana/chain.ts';
import { claimBody, FAST_SUBMISSION, newClaimant, openEpoch, type RewardsTest, rewardOf } from '#test/support/solana/claims.ts';
import { startSigners } from '#test/support/solana/signers.ts';

test.each(['exec', 'url'] as const)(
  'with a signer for every role (%s), a root, a claim, payments and a commitment land, and no process of the service has a key',
  async (form) => {
    const chain = await startTestChain();
    const signers = await startSigners(chain, form);
    const env = { ...signers.env, ...FAST_SUBMISSION, ...FAST_DRAWS };
    expect(Object.keys(env).filter((name) => /^(FEE_PAYER|EPOCH_AUTHORITY|TREASURY|COMMITTER)_KEY$/.test(name))).toEqual([]);
    const t: RewardsTest = { ...(await startTestApp({ env })), chain };
    try {
      const player = await newClaimant(t);
      const epoch = await openEpoch(t, 100, [[player.wallet, 2_000_000n]]);
      expect((await player.fetch('/api/rewards/claim', { json: claimBody(epoch, player.wallet) })).status).toBeLessThan(300);
      await retryUntilPass(async () => expect(await rewardOf(t, player.wallet)).toBe(2_000_000n));

      const all = [paymentRequest({ amount: 3n }), paymentRequest({ amount: 5n })];
      await untilPaid(t, await createAllPayments(t, all), 'completed', 30_000);
      expect(
        await balancesOf(
          t,
          all.map(({ wallet }) => wallet),
        ),
      ).toEqual([3n, 5n]);

      const round = await startRound(t, { durationSec: 3 });
      await enter(t, 2);
      await untilState(t, round.id, 'finalized');
    } finally {
      await t.close();
      signers.close();
      await chain.close();
    }
  },
  120_000,
);

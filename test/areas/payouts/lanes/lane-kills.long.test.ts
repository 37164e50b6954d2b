import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { publishedMember } from '#areas/payouts/batches/members.ts';
import { reconcileLanes } from '#areas/payouts/lanes/reconcile.ts';
import { membersHash, payoutMemo } from '#lib/draw/payout.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createAllPayments, eventsOf, paymentRequest } from '#test/support/areas/payouts.ts';
import { Killed, killableApp } from '#test/support/solana/submission.ts';
import { LaneChain } from './lane-chain.ts';

let chain: LaneChain;
let t: TestApp;
beforeAll(async () => {
  chain = await LaneChain.start();
  t = chain.t;
});
beforeEach(() => chain.reset());
afterAll(() => t.close());

/** Maximum runs until the history of a lane in these tests is read. */
const MAX_RUNS = 10;

/** Operation at which the process reads transactions, and number of these operations that are not tried, because they are all alike. */
const FIRST_READ = 14;
const MANY_READS = 190;

test.each(['before', 'after'] as const)(
  'a process that stops %s any operation of reading a history loses nothing, and each payment is completed once',
  async (when) => {
    for (let at = 1, isKilled = true; isKilled; at += at === FIRST_READ ? MANY_READS : 1) {
      await chain.reset();
      const lane = await chain.newLane();
      const request = paymentRequest();
      const [payment] = await createAllPayments(t, [request]);
      if (!payment) throw new Error('no payment was created');
      const member = publishedMember({ ...request, id: payment.id }, t.app.chain.usdcMint.toBase58());
      const memo = payoutMemo('00000000-0000-4000-8000-000000000000', membersHash([member]));
      chain.addTransaction(lane, lane.nonce, { at: 150, memo, payments: [request] });
      chain.addStrangers(lane, 210);
      chain.slot = 1_000;
      chain.accounts.set(lane.address, chain.nonceAfter(150));
      const killed = killableApp(t.app, at, when);
      isKilled = false;
      let isClear = false;
      for (let run = 0; run < MAX_RUNS && !isClear; run++) {
        try {
          isClear = (await reconcileLanes(isKilled ? t.app : killed.app, 'stale', { readsHistory: true })).clear;
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
          isKilled = true;
          // The next run may continue the history when the claim of the killed run has expired.
          await t.clock.set(new Date(t.clock.now().getTime() + 31_000));
        }
      }
      expect([at, isClear]).toEqual([at, true]);
      expect(await sql(t.app, 'select nonce, stale, reason from payout_lanes where lane = $1', [lane.lane])).toEqual([
        { nonce: chain.nonceAfter(150), stale: false, reason: null },
      ]);
      expect(await sql(t.app, 'select state from payments where id = $1', [payment.id])).toEqual([{ state: 'completed' }]);
      expect(await eventsOf(t, payment)).toHaveLength(1);
      expect(await sql(t.app, 'select lane from payout_lane_scans where lane = $1', [lane.lane])).toEqual([]);
    }
  },
);

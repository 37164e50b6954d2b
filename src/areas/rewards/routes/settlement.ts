import { reply, route } from '#platform/http/route.ts';
import { settleOffChain } from '../chain/settlement.ts';
import { Settlements, SettleRequest } from '../claims/schemas.ts';

export const postSettledOffChain = route({
  method: 'post',
  path: '/api/rewards/settled-offchain',
  auth: { admin: 'money' },
  summary: 'Settle epochs off-chain',
  description:
    'Unclaimed rewards of a settled epoch cannot be claimed any more. An epoch on the chain is first settled on the chain; the response is 202 until that settlement is finalized. ' +
    'An epoch that was never committed is settled at once and is never committed. If one of the epochs does not exist, no epoch is settled. Idempotent.',
  body: SettleRequest,
  returns: { 200: Settlements, 202: Settlements },
  fails: [404],
  async handler({ app, body }) {
    const epochs = await app.tx((tx) => settleOffChain(tx, body.epochs));
    const pending = epochs.filter(({ status }) => status === 'settling');
    const [first] = pending;
    if (!first) return reply(200, { epochs });
    return reply(202, { epochs }, { Location: pending.length === 1 ? `/api/rewards/epoch/${first.epoch}` : '/api/rewards/epochs' });
  },
});

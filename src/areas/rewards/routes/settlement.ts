import { reply, route } from '#platform/http/route.ts';
import { requestSettlement } from '../chain/settlement.ts';
import { Settlements, SettleRequest } from '../claims/schemas.ts';

export const postSettledOffChain = route({
  method: 'post',
  path: '/api/rewards/settled-offchain',
  auth: { admin: 'money' },
  summary: 'Settle epochs off-chain',
  description:
    'Unclaimed rewards of a settled epoch cannot be claimed any more. The service reads the chain: an epoch on the chain is first settled there. An epoch that was never committed is settled when no transaction ' +
    'that was signed before the request can commit it any more (about 75 s), and is never committed. The response is 202 until then. Fails with 409 while an epoch is open on the chain with another root than in ' +
    'the database; with `root`, the request settles this root. If one of the epochs does not exist, no epoch is settled. Idempotent.',
  body: SettleRequest,
  returns: { 200: Settlements, 202: Settlements },
  fails: [404, 409],
  async handler({ app, body }) {
    const epochs = await requestSettlement(app, body.epochs, body.root ?? null);
    const pending = epochs.filter(({ status }) => status === 'settling');
    const [first] = pending;
    if (!first) return reply(200, { epochs });
    return reply(202, { epochs }, { Location: pending.length === 1 ? `/api/rewards/epoch/${first.epoch}` : '/api/rewards/epochs' });
  },
});

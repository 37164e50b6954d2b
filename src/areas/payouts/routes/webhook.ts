import { route } from '#platform/http/route.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { PaymentStatus } from '../schemas.ts';

export const postPaymentStatus = route({
  method: 'post',
  path: '/webhooks/payment-status',
  auth: { webhook: 'payment-status' },
  summary: 'How a payment of the orchestrator goes',
  description:
    'Stored, acknowledged, then worked on. Only payments of the orchestrator are touched; wallet, amount and currency must be theirs. An older timestamp never overrides a newer one, and completed changes only by reversed. A transactionSignature of a completed payment is checked on the chain.',
  body: PaymentStatus,
  returns: { 200: Acknowledged },
  fails: [409],
  handler: ({ delivery, once }) =>
    once(async (tx) => {
      tx.enqueue(processWebhook, { source: 'payment-status', id: delivery.id });
      return acknowledged();
    }),
});

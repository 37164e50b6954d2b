import { route } from '#platform/http/route.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { PaymentStatus } from '../schemas.ts';

export const postPaymentStatus = route({
  method: 'post',
  path: '/webhooks/payment-status',
  auth: { webhook: 'payment-status' },
  summary: 'Status report of the orchestrator about one of its payments',
  description:
    'Every signed JSON object is stored, acknowledged and processed later; the list of deliveries shows the verdict. A delivery of an unknown type has no effect. A report must name a payment of the orchestrator, with the same wallet, amount and currency. A report with an older timestamp is ignored. A completed payment can only become reversed. The transactionSignature of a completed payment is checked on the chain.',
  body: PaymentStatus,
  returns: { 200: Acknowledged },
  fails: [409],
  handler: ({ delivery, once }) =>
    once(async (tx) => {
      tx.enqueue(processWebhook, { source: 'payment-status', id: delivery.id });
      return acknowledged();
    }),
});

import { prepareBridged } from '#areas/chat';
import { prepareReport } from '#areas/payouts';
import { prepareEngagement } from '#areas/social';
import { type workDelivery as job, type sweepDeliveries as sweep, WORKED_SOURCES } from '#jobs/webhooks.ts';
import { ringDeliveries, workOnDelivery } from '#platform/webhooks/inbox.ts';
import type { Handler } from './handler.ts';

/** Works on what came by webhook, by its source. */
const bySource = { 'payment-status': prepareReport, 'chat-bridge': prepareBridged, x: prepareEngagement } as const;

export const workDelivery: Handler<typeof job> = async (app, { source, id }) =>
  await workOnDelivery(app, { source, id }, (body, received) => bySource[source](app, body, received));

/** Rings for deliveries that wait. */
export const sweepDeliveries: Handler<typeof sweep> = async (app) => {
  await Promise.all(WORKED_SOURCES.map((source) => ringDeliveries(app, source)));
};

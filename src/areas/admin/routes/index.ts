import { approvalRoutes } from '../approvals/routes.ts';
import { ledgerRoutes } from '../ledger/routes.ts';
import { playerRoutes } from '../players/routes.ts';
import { arcadeOperationRoutes } from './arcade.ts';
import { auditRoutes } from './audit.ts';
import { banRoutes } from './bans.ts';
import { notificationRoutes } from './notifications.ts';
import { registryRoutes } from './registry.ts';
import { webhookRoutes } from './webhooks.ts';

/** The endpoints that require an admin token and are not part of another area. */
export const adminRoutes = {
  admin: [
    ...registryRoutes,
    ...banRoutes,
    ...ledgerRoutes,
    ...approvalRoutes,
    ...playerRoutes,
    ...notificationRoutes,
    ...arcadeOperationRoutes,
    ...webhookRoutes,
    ...auditRoutes,
  ],
};

import { arcadeOperationRoutes } from './arcade.ts';
import { auditRoutes } from './audit.ts';
import { banRoutes } from './bans.ts';
import { registryRoutes } from './registry.ts';
import { webhookRoutes } from './webhooks.ts';

/** The endpoints that require an admin token and are not part of another area. */
export const adminRoutes = {
  admin: [...registryRoutes, ...banRoutes, ...arcadeOperationRoutes, ...webhookRoutes, ...auditRoutes],
};

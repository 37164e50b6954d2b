import { arcadeOperationRoutes } from './arcade.ts';
import { auditRoutes } from './audit.ts';
import { banRoutes } from './bans.ts';
import { registryRoutes } from './registry.ts';
import { webhookRoutes } from './webhooks.ts';

/** The endpoints for admin tokens that belong to no other area. */
export const adminRoutes = {
  admin: [...registryRoutes, ...banRoutes, ...arcadeOperationRoutes, ...webhookRoutes, ...auditRoutes],
};

import type { AnyRoute } from '../../../http/route.ts';

/** What the social network delivers. */
export const engagementRoutes: { readonly public: readonly AnyRoute[]; readonly webhooks: readonly AnyRoute[] } = { public: [], webhooks: [] };

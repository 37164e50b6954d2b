import type { AnyRoute } from '../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const chatRoutes = { public: none, session: none, admin: none, webhooks: none };

import type { AnyRoute } from '../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const questRoutes = { public: none, session: none, admin: none };

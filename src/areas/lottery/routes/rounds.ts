import type { AnyRoute } from '../../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const roundRoutes = { public: none, session: none, admin: none };

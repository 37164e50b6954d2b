import type { AnyRoute } from '../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const referralRoutes = { public: none, session: none, admin: none };

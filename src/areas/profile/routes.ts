import type { AnyRoute } from '../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const profileRoutes = { public: none, session: none, admin: none };

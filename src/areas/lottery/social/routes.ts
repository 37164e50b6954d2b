import type { AnyRoute } from '../../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const socialRoundRoutes = { public: none, session: none, admin: none };

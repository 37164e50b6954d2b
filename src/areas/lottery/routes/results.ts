import type { AnyRoute } from '../../../http/route.ts';

const none: readonly AnyRoute[] = [];
export const roundResultRoutes = { public: none, session: none, admin: none };

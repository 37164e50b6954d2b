import type { AnyRoute } from '../../http/route.ts';

export const burnRoutes: { readonly public: readonly AnyRoute[]; readonly session: readonly AnyRoute[]; readonly admin: readonly AnyRoute[] } = {
  public: [],
  session: [],
  admin: [],
};

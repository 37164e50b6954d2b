import type { AnyRoute } from '../http/route.ts';

/** Every route of the service, by who may call it: the map of the API on one screen. */
export const routes: { readonly [tier: string]: readonly AnyRoute[] } = {
  public: [],
  session: [],
  admin: [],
};

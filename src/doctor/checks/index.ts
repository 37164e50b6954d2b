import type { Check } from '#doctor/check.ts';
import { balances, lanes } from './balances.ts';
import { beacon } from './beacon.ts';
import { clocks, history, rpc } from './cluster.ts';
import { migrations, postgresql, servers } from './database.ts';
import { keys } from './keys.ts';
import { partitions } from './partitions.ts';
import { openFiles, queues } from './process.ts';
import { distributor, draws } from './programs.ts';
import { publicUrl } from './public-url.ts';
import { redis } from './redis.ts';
import { secrets, webhooks } from './secrets.ts';
import { denyList, price, x } from './services.ts';
import { storage } from './storage.ts';
import { mints } from './tokens.ts';

/** Every check, in the order in which findings are printed. */
export const CHECKS: readonly Check[] = [
  publicUrl,
  secrets,
  webhooks,
  queues,
  openFiles,
  postgresql,
  servers,
  migrations,
  partitions,
  redis,
  storage,
  rpc,
  history,
  clocks,
  distributor,
  draws,
  mints,
  keys,
  balances,
  lanes,
  beacon,
  price,
  x,
  denyList,
];

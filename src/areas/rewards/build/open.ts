import { openThread, type Remote, type Thread, withoutThread } from '#platform/threads/worker-thread.ts';
import type { WalletPage } from '../epochs/snapshot.ts';
import { EpochBuilder } from './builder.ts';

/**
 * Maximum characters of addresses that are built without a worker thread: about 9,000 wallets. Their projection takes 10 ms and
 * their tree 100 ms; starting a thread takes 300 ms of CPU time.
 */
const MAX_INLINE_CHARS = 400_000;

/**
 * Opens a builder, in a worker thread when there are many wallets, so that the event loop is not blocked.
 * @param first addresses of the first page; a short first page means that there are few wallets
 */
function openBuilder(first: string): Thread<EpochBuilder> {
  if (first.length <= MAX_INLINE_CHARS) return withoutThread(new EpochBuilder());
  return openThread<EpochBuilder>(new URL('./thread.ts', import.meta.url));
}

/**
 * Adds pages to a builder, then calls `work` with the builder and the pages, and closes the builder.
 * Reads the next page while the builder adds the current one.
 */
export async function buildFromPages<T>(
  from: AsyncIterable<WalletPage>,
  work: (builder: Remote<EpochBuilder>, pages: readonly WalletPage[]) => Promise<T>,
): Promise<T> {
  const pages: WalletPage[] = [];
  let builder: Thread<EpochBuilder> | null = null;
  try {
    let added: Promise<unknown> = Promise.resolve();
    for await (const page of from) {
      builder ??= openBuilder(page.wallets);
      pages.push(page);
      await added;
      added = builder.remote.add(page.wallets, page.values);
      added.catch(() => undefined);
    }
    await added;
    builder ??= openBuilder('');
    return await work(builder.remote, pages);
  } finally {
    await builder?.close();
  }
}

import { openThread, type Remote, type Thread, withoutThread } from '#platform/threads/worker-thread.ts';
import type { Page } from '../snapshot.ts';
import { EpochBuilder } from './builder.ts';

/**
 * How much text the addresses of some 9,000 wallets are. Their projection, four times a minute, takes 10 ms, and their tree, once a day, 100 ms;
 * starting a thread takes 300 ms of a processor each time.
 */
const LITTLE = 400_000;

/**
 * Opens a builder: for many wallets in a thread of its own, so that the process goes on with its other work.
 * @param first the addresses of the first page; pages are full but for the last one
 */
function openBuilder(first: string): Thread<EpochBuilder> {
  if (first.length <= LITTLE) return withoutThread(new EpochBuilder());
  return openThread<EpochBuilder>(new URL('./thread.ts', import.meta.url));
}

/** Hands pages to a builder as they come, one being taken in while the next is read, and then works with both. */
export async function buildFrom<T>(
  from: AsyncIterable<Page>,
  work: (builder: Remote<EpochBuilder>, pages: readonly Page[]) => Promise<T>,
): Promise<T> {
  const pages: Page[] = [];
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

import { parentPort, workerData } from 'node:worker_threads';
import { type Entry, entryLeaves } from '#lib/draw/entry.ts';
import { judge, type Question } from './evaluate.ts';

/** A thread that judges one round: it is given its entries a chunk at a time, and then null. */
const question: Question = workerData;
const entries: Entry[][] = [];
const leaves: Uint8Array[] = [];
parentPort?.on('message', (chunk: Entry[] | null) => {
  if (chunk === null) parentPort?.postMessage(judge({ ...question, entries: entries.flat() }, Buffer.concat(leaves)));
  else {
    entries.push(chunk);
    leaves.push(entryLeaves(question.parameters.round, chunk));
  }
});

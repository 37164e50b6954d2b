import { parentPort, workerData } from 'node:worker_threads';
import { type Case, judge } from './judge.ts';

/** A thread that judges one round. */
const given: Case = workerData;
parentPort?.postMessage(judge(given));

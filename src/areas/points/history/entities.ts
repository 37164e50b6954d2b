import { defineEntity } from '@mikro-orm/core';
import { array, bigint, bytes, byteText, checks, integer, numeric, timestamp, uuid, wallet } from '#platform/db/columns.ts';

/** A row is the partition of a table whose month is closed: its rows cannot change. Months are numbered as by `bucketOf`. */
export const ClosedPartitionsTable = defineEntity({
  name: 'ClosedPartitions',
  tableName: 'closed_partitions',
  properties: {
    relation: byteText().primary(),
    month: integer().primary(),
    /** Columns of the exported rows, in their order. */
    columns: array('text'),
    /** Size of the partition in blocks of PostgreSQL, and number of blocks whose rows are counted. */
    blocks: integer(),
    counted: integer().default(0),
    /** Sums over the counted rows. The checksum adds up numbers that are computed from the text of each row. */
    rowCount: bigint().defaultRaw('0'),
    checksum: numeric().defaultRaw('0'),
    /** Time from which every write to the partition is refused. */
    sealedAt: timestamp().defaultRaw('app_now()'),
    /** Time at which all rows were counted, and none of them was written in the present or the previous month. */
    closedAt: timestamp().nullable(),
    exportedAt: timestamp().nullable(),
    detachedAt: timestamp().nullable(),
    droppedAt: timestamp().nullable(),
  },
  checks: checks(
    'blocks >= 0',
    'counted >= 0 and counted <= blocks',
    'row_count >= 0',
    'closed_at is not null or exported_at is null',
    'exported_at is not null or detached_at is null',
    'detached_at is not null or dropped_at is null',
  ),
});

/** A row is the sum of the rows of a closed partition with the same UTC day and cause. */
export const ClosedSumsTable = defineEntity({
  name: 'ClosedSums',
  tableName: 'closed_sums',
  properties: {
    relation: byteText().primary(),
    month: integer().primary(),
    day: integer().primary(),
    mode: byteText().primary(),
    kind: byteText().primary(),
    source: byteText().primary(),
    reason: byteText().primary(),
    rowCount: bigint(),
    points: bigint(),
  },
});

/** A row is the sum of the points of a wallet in a closed month of the ledger. */
export const CarriedPointsTable = defineEntity({
  name: 'CarriedPoints',
  tableName: 'carried_points',
  properties: {
    wallet: wallet().primary(),
    month: integer().primary(),
    mode: byteText().primary(),
    kind: byteText().primary(),
    /** Month in which the points were written; it can be later than the month of their cause. */
    paidMonth: integer().primary(),
    /** Wallet whose scores gave the points of a referrer; empty for other points. */
    referred: wallet().primary(),
    points: bigint(),
    rowCount: bigint(),
  },
});

/** A row is the sum of the plays and scores of a wallet in a game, in a closed month. */
export const CarriedGamesTable = defineEntity({
  name: 'CarriedGames',
  tableName: 'carried_games',
  properties: {
    wallet: wallet().primary(),
    month: integer().primary(),
    mode: byteText().primary(),
    gameId: byteText().primary(),
    /** Month in which the scores were accepted; it can be later than `month`. */
    paidMonth: integer().primary(),
    /** Number of plays, and of scores without a play of the same mode. */
    plays: bigint(),
    /** Number and points of the accepted scores. */
    scores: bigint(),
    points: bigint(),
    /** Best normalized value and sum of the normalized values of the accepted scores. */
    best: integer().nullable(),
    /** Submitted value and time of the first score with the best normalized value. */
    bestScore: bigint().nullable(),
    bestAt: timestamp().nullable(),
    normalized: bigint(),
  },
});

/** A row is a file with rows of a closed partition. The file is in the media storage under the id. */
export const HistoryFilesTable = defineEntity({
  name: 'HistoryFiles',
  tableName: 'history_files',
  properties: {
    id: uuid().primary(),
    relation: byteText(),
    month: integer(),
    /** Number of the first block of the partition whose rows the file contains. */
    part: integer(),
    /** Time at which a process began to write the file. */
    leasedAt: timestamp().defaultRaw('app_now()'),
    rowCount: bigint().nullable(),
    checksum: numeric().nullable(),
    bytes: bigint().nullable(),
    sha256: bytes().nullable(),
    storedAt: timestamp().nullable(),
    verifiedAt: timestamp().nullable(),
  },
  checks: checks('(stored_at is null) = (sha256 is null)', 'stored_at is not null or verified_at is null'),
  uniques: [{ name: 'history_files_relation_month_part_key', properties: ['relation', 'month', 'part'] }],
});

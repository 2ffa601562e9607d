// What to do about a fault in a database.

export const RESTORE = 'Keep a copy of the database, and restore it from a backup.'

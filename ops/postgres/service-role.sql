-- Creates the role of the API and the workers in an existing database, or changes its password. Run it as an administrator of the server:
--
--   SERVICE_PASSWORD=… psql --set=ON_ERROR_STOP=1 --file=ops/postgres/service-role.sql "$ADMINISTRATOR_URL"
--
-- The role owns nothing. src/migrate.ts gives it the rights in src/areas/rights.ts after each migration.
\getenv password SERVICE_PASSWORD
select 'create role coinop_service' where not exists (select from pg_roles where rolname = 'coinop_service') \gexec
-- A new role has no attribute of an administrator. Hosted servers let nobody name these attributes here, not even to refuse them.
alter role coinop_service login password :'password';
-- Before PostgreSQL 15, every role may create tables in the schema public.
revoke create on schema public from public;
revoke temporary on database :"DBNAME" from public;

--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: agents; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA agents;


--
-- Name: gateway; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA gateway;


--
-- Name: identity; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA identity;


--
-- Name: jobs; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA jobs;


--
-- Name: portal; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA portal;


--
-- Name: job_state; Type: TYPE; Schema: jobs; Owner: -
--

CREATE TYPE jobs.job_state AS ENUM (
    'created',
    'retry',
    'active',
    'completed',
    'cancelled',
    'failed'
);


--
-- Name: create_queue(text, jsonb); Type: FUNCTION; Schema: jobs; Owner: -
--

CREATE FUNCTION jobs.create_queue(queue_name text, options jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $_$
    DECLARE
      tablename varchar := CASE WHEN options->>'partition' = 'true'
                            THEN 'j' || encode(sha224(queue_name::bytea), 'hex')
                            ELSE 'job_common'
                            END;
      queue_created_on timestamptz;
    BEGIN

      WITH q as (
        INSERT INTO jobs.queue (
          name,
          policy,
          retry_limit,
          retry_delay,
          retry_backoff,
          retry_delay_max,
          expire_seconds,
          retention_seconds,
          deletion_seconds,
          warning_queued,
          dead_letter,
          partition,
          table_name,
          heartbeat_seconds,
          notify,
          created_on,
          updated_on
        )
        VALUES (
          queue_name,
          options->>'policy',
          COALESCE((options->>'retryLimit')::int, 2),
          COALESCE((options->>'retryDelay')::int, 0),
          COALESCE((options->>'retryBackoff')::bool, false),
          (options->>'retryDelayMax')::int,
          COALESCE((options->>'expireInSeconds')::int, 900),
          COALESCE((options->>'retentionSeconds')::int, 1209600),
          COALESCE((options->>'deleteAfterSeconds')::int, 604800),
          COALESCE((options->>'warningQueueSize')::int, 0),
          options->>'deadLetter',
          COALESCE((options->>'partition')::bool, false),
          tablename,
          (options->>'heartbeatSeconds')::int,
          COALESCE((options->>'notify')::bool, false),
          jobs.job_now(),
          jobs.job_now()
        )
        ON CONFLICT DO NOTHING
        RETURNING created_on
      )
      SELECT created_on into queue_created_on from q;

      IF queue_created_on IS NULL OR options->>'partition' IS DISTINCT FROM 'true' THEN
        RETURN;
      END IF;

      EXECUTE format('CREATE TABLE jobs.%I (LIKE jobs.job INCLUDING DEFAULTS)', tablename);

      EXECUTE jobs.job_table_format($cmd$ALTER TABLE jobs.job ADD PRIMARY KEY (name, id)$cmd$, tablename);
      EXECUTE jobs.job_table_format($cmd$ALTER TABLE jobs.job ADD CONSTRAINT q_fkey FOREIGN KEY (name) REFERENCES jobs.queue (name) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED$cmd$, tablename);
      EXECUTE jobs.job_table_format($cmd$ALTER TABLE jobs.job ADD CONSTRAINT dlq_fkey FOREIGN KEY (dead_letter) REFERENCES jobs.queue (name) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED$cmd$, tablename);

      EXECUTE jobs.job_table_format($cmd$CREATE INDEX job_i11 ON jobs.job (name, priority DESC, created_on, start_after) WHERE state < 'active' AND NOT blocked$cmd$, tablename);
      EXECUTE jobs.job_table_format($cmd$CREATE UNIQUE INDEX job_i4 ON jobs.job (name, singleton_on, COALESCE(singleton_key, '')) WHERE state <> 'cancelled' AND singleton_on IS NOT NULL$cmd$, tablename);
      EXECUTE jobs.job_table_format($cmd$CREATE INDEX job_i7 ON jobs.job (name, group_id) WHERE state = 'active' AND group_id IS NOT NULL$cmd$, tablename);
      EXECUTE jobs.job_table_format($cmd$CREATE INDEX job_i9 ON jobs.job (name, id) WHERE blocking AND state = 'completed'$cmd$, tablename);
      EXECUTE jobs.job_table_format($cmd$CREATE INDEX job_i12 ON jobs.job (source_root_id) WHERE source_root_id IS NOT NULL$cmd$, tablename);

      IF options->>'policy' = 'short' THEN
        EXECUTE jobs.job_table_format($cmd$CREATE UNIQUE INDEX job_i1 ON jobs.job (name, COALESCE(singleton_key, '')) WHERE state = 'created' AND policy = 'short'$cmd$, tablename);
      ELSIF options->>'policy' = 'singleton' THEN
        EXECUTE jobs.job_table_format($cmd$CREATE UNIQUE INDEX job_i2 ON jobs.job (name, COALESCE(singleton_key, '')) WHERE state = 'active' AND policy = 'singleton'$cmd$, tablename);
      ELSIF options->>'policy' = 'stately' THEN
        EXECUTE jobs.job_table_format($cmd$CREATE UNIQUE INDEX job_i3 ON jobs.job (name, state, COALESCE(singleton_key, '')) WHERE state <= 'active' AND policy = 'stately'$cmd$, tablename);
      ELSIF options->>'policy' = 'exclusive' THEN
        EXECUTE jobs.job_table_format($cmd$CREATE UNIQUE INDEX job_i6 ON jobs.job (name, COALESCE(singleton_key, '')) WHERE state <= 'active' AND policy = 'exclusive'$cmd$, tablename);
      ELSIF options->>'policy' = 'key_strict_fifo' THEN
        EXECUTE jobs.job_table_format($cmd$CREATE UNIQUE INDEX job_i8 ON jobs.job (name, singleton_key) WHERE state IN ('active', 'retry', 'failed') AND policy = 'key_strict_fifo'$cmd$, tablename);
        EXECUTE jobs.job_table_format($cmd$CREATE INDEX job_i10 ON jobs.job (name, singleton_key, state DESC, created_on, id) INCLUDE (start_after) WHERE state < 'active' AND NOT blocked AND policy = 'key_strict_fifo'$cmd$, tablename);
        EXECUTE jobs.job_table_format($cmd$ALTER TABLE jobs.job ADD CONSTRAINT job_key_strict_fifo_singleton_key_check CHECK (NOT (policy = 'key_strict_fifo' AND singleton_key IS NULL))$cmd$, tablename);
      END IF;

      EXECUTE format('ALTER TABLE jobs.%I ADD CONSTRAINT cjc CHECK (name=%L)', tablename, queue_name);
      EXECUTE format('ALTER TABLE jobs.job ATTACH PARTITION jobs.%I FOR VALUES IN (%L)', tablename, queue_name);
    END;
    $_$;


--
-- Name: delete_queue(text); Type: FUNCTION; Schema: jobs; Owner: -
--

CREATE FUNCTION jobs.delete_queue(queue_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
    DECLARE
      v_table varchar;
      v_partition bool;
    BEGIN
      
      SELECT table_name, partition
      FROM jobs.queue
      WHERE name = queue_name
      INTO v_table, v_partition;

      IF v_partition THEN
        EXECUTE format('DROP TABLE IF EXISTS jobs.%I', v_table);
      ELSE
        EXECUTE format('DELETE FROM jobs.%I WHERE name = %L', v_table, queue_name);
      END IF;
    
      DELETE FROM jobs.queue WHERE name = queue_name;
    END;
    $$;


--
-- Name: job_now(); Type: FUNCTION; Schema: jobs; Owner: -
--

CREATE FUNCTION jobs.job_now() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
      SELECT pg_catalog.now();
    $$;


--
-- Name: job_table_format(text, text); Type: FUNCTION; Schema: jobs; Owner: -
--

CREATE FUNCTION jobs.job_table_format(command text, table_name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$
      SELECT format(
        regexp_replace(
          regexp_replace(command, '\.job\y', '.%1$I', 'g'),
          '\yjob_i(\d+)', '%1$s_i\1', 'g'
        ),
        table_name
      );
    $_$;


--
-- Name: job_table_run(text, text, text); Type: FUNCTION; Schema: jobs; Owner: -
--

CREATE FUNCTION jobs.job_table_run(command text, tbl_name text DEFAULT NULL::text, queue_name text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
    DECLARE
      tbl RECORD;
    BEGIN
      IF queue_name IS NOT NULL THEN
        SELECT table_name INTO tbl_name FROM jobs.queue WHERE name = queue_name;
      END IF;

      IF tbl_name IS NOT NULL THEN
        EXECUTE jobs.job_table_format(command, tbl_name);
        RETURN;
      END IF;

      EXECUTE jobs.job_table_format(command, 'job_common');

      FOR tbl IN SELECT table_name FROM jobs.queue WHERE partition = true
      LOOP
        EXECUTE jobs.job_table_format(command, tbl.table_name);
      END LOOP;
    END;
    $$;


--
-- Name: job_table_run_async(text, integer, text, text, text); Type: FUNCTION; Schema: jobs; Owner: -
--

CREATE FUNCTION jobs.job_table_run_async(command_name text, version integer, command text, tbl_name text DEFAULT NULL::text, queue_name text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
    BEGIN
      IF queue_name IS NOT NULL THEN
        SELECT table_name INTO tbl_name FROM jobs.queue WHERE name = queue_name;
      END IF;

      IF tbl_name IS NOT NULL THEN
        INSERT INTO jobs.bam (name, version, status, queue, table_name, command)
        VALUES (
          command_name,
          version,
          'pending',
          queue_name,
          tbl_name,
          jobs.job_table_format(command, tbl_name)
        );
        RETURN;
      END IF;

      INSERT INTO jobs.bam (name, version, status, queue, table_name, command)
      SELECT
        command_name,
        version,
        'pending',
        NULL,
        'job_common',
        jobs.job_table_format(command, 'job_common')
      UNION ALL
      SELECT
        command_name,
        version,
        'pending',
        queue.name,
        queue.table_name,
        jobs.job_table_format(command, queue.table_name)
      FROM jobs.queue
      WHERE partition = true;
    END;
    $$;


--
-- Name: refuse_audit_change(); Type: FUNCTION; Schema: portal; Owner: -
--

CREATE FUNCTION portal.refuse_audit_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: agents; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.agents (
    space_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    name text NOT NULL,
    instructions text NOT NULL,
    description text NOT NULL,
    model text NOT NULL,
    provider text NOT NULL,
    output_format text NOT NULL,
    default_parameters jsonb DEFAULT '{}'::jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_by jsonb NOT NULL,
    updated_by jsonb,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    size integer GENERATED ALWAYS AS ((((octet_length(name) + octet_length(instructions)) + octet_length(description)) + octet_length((metadata)::text))) STORED NOT NULL
);


--
-- Name: messages; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.messages (
    space_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    message_id uuid NOT NULL,
    role text NOT NULL,
    content jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    model text,
    usage jsonb,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    size integer GENERATED ALWAYS AS ((octet_length((content)::text) + octet_length((metadata)::text))) STORED NOT NULL,
    CONSTRAINT messages_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'system'::text, 'tool'::text])))
);


--
-- Name: migrations; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.migrations (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);


--
-- Name: migrations_lock; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.migrations_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
);


--
-- Name: retrieval_owner; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.retrieval_owner (
    only_row boolean DEFAULT true NOT NULL,
    owner uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT retrieval_owner_only_row_check CHECK (only_row)
);


--
-- Name: threads; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.threads (
    space_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    title text,
    status text DEFAULT 'open'::text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    last_message_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    size integer GENERATED ALWAYS AS ((COALESCE(octet_length(title), 0) + octet_length((metadata)::text))) STORED NOT NULL,
    CONSTRAINT threads_status_check CHECK ((status = ANY (ARRAY['open'::text, 'archived'::text, 'completed'::text])))
)
WITH (fillfactor='85');


--
-- Name: vector_store_upkeep; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.vector_store_upkeep (
    space_id uuid NOT NULL,
    vector_store_id uuid NOT NULL,
    dirty_since timestamp with time zone,
    prune_after timestamp with time zone,
    deletions bigint DEFAULT 0 NOT NULL,
    built_rows bigint DEFAULT 0 NOT NULL,
    leased_until timestamp with time zone,
    holder uuid,
    searched_at timestamp with time zone
)
WITH (fillfactor='70');


--
-- Name: vector_stores; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.vector_stores (
    space_id uuid NOT NULL,
    vector_store_id uuid NOT NULL,
    name text NOT NULL,
    description text,
    embedding_model text NOT NULL,
    embedding_dimension integer NOT NULL,
    chunk_size integer NOT NULL,
    chunk_overlap integer NOT NULL,
    created_by jsonb,
    updated_by jsonb,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    size integer GENERATED ALWAYS AS (((octet_length(name) + COALESCE(octet_length(description), 0)) + octet_length((metadata)::text))) STORED NOT NULL,
    language text DEFAULT 'english'::text NOT NULL,
    CONSTRAINT vector_stores_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deleting'::text])))
);


--
-- Name: vocabularies; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.vocabularies (
    space_id uuid NOT NULL,
    vector_store_id uuid NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    begun_at timestamp with time zone
);


--
-- Name: vocabulary_words; Type: TABLE; Schema: agents; Owner: -
--

CREATE TABLE agents.vocabulary_words (
    space_id uuid NOT NULL,
    vector_store_id uuid NOT NULL,
    epoch integer NOT NULL,
    size smallint NOT NULL,
    word text NOT NULL COLLATE pg_catalog."C",
    stem text NOT NULL COLLATE pg_catalog."C",
    letters integer NOT NULL
);


--
-- Name: migrations; Type: TABLE; Schema: gateway; Owner: -
--

CREATE TABLE gateway.migrations (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);


--
-- Name: migrations_lock; Type: TABLE; Schema: gateway; Owner: -
--

CREATE TABLE gateway.migrations_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
);


--
-- Name: rate_buckets; Type: TABLE; Schema: gateway; Owner: -
--

CREATE UNLOGGED TABLE gateway.rate_buckets (
    key_id text NOT NULL,
    tokens double precision NOT NULL,
    leased double precision NOT NULL,
    granted double precision NOT NULL,
    touched_at timestamp with time zone NOT NULL
);


--
-- Name: unrecorded_usage; Type: TABLE; Schema: gateway; Owner: -
--

CREATE TABLE gateway.unrecorded_usage (
    id bigint NOT NULL,
    usage jsonb NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: unrecorded_usage_id_seq; Type: SEQUENCE; Schema: gateway; Owner: -
--

ALTER TABLE gateway.unrecorded_usage ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME gateway.unrecorded_usage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: usage_journals; Type: TABLE; Schema: gateway; Owner: -
--

CREATE TABLE gateway.usage_journals (
    journal_id uuid NOT NULL,
    flushed_bytes bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: accounts; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.accounts (
    qx_id text NOT NULL,
    name text NOT NULL,
    mail_address text DEFAULT ''::text NOT NULL,
    password_hash text NOT NULL,
    password_changed_at timestamp with time zone DEFAULT now() NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    disabled_at timestamp with time zone,
    tokens_valid_from timestamp with time zone
);


--
-- Name: client_secrets; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.client_secrets (
    client_id text NOT NULL,
    secret_id uuid NOT NULL,
    hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT client_secrets_hash_check CHECK ((length(hash) = 32))
);


--
-- Name: clients; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.clients (
    client_id text NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    token_lifetime_seconds integer NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    revocations_until timestamp with time zone,
    CONSTRAINT clients_status_check CHECK ((status = ANY (ARRAY['In Progress'::text, 'Active'::text, 'Disabled'::text]))),
    CONSTRAINT clients_token_lifetime_seconds_check CHECK (((token_lifetime_seconds >= 60) AND (token_lifetime_seconds <= 86400)))
);


--
-- Name: migrations; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.migrations (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);


--
-- Name: migrations_lock; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.migrations_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
);


--
-- Name: oidc_records; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.oidc_records (
    model text NOT NULL,
    id text NOT NULL,
    payload jsonb NOT NULL,
    uid text,
    user_code text,
    grant_id text,
    account_id text,
    session_id text,
    expires_at timestamp with time zone
);


--
-- Name: revoked_tokens; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.revoked_tokens (
    jti text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: sessions; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.sessions (
    session_id uuid NOT NULL,
    qx_id text NOT NULL,
    client_id text NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);


--
-- Name: signing_keys; Type: TABLE; Schema: identity; Owner: -
--

CREATE TABLE identity.signing_keys (
    kid text NOT NULL,
    alg text NOT NULL,
    public_jwk jsonb NOT NULL,
    sealed_private_jwk bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    signs_from timestamp with time zone NOT NULL,
    retires_at timestamp with time zone
);


--
-- Name: bam; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.bam (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    queue text,
    table_name text NOT NULL,
    command text NOT NULL,
    error text,
    created_on timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_on timestamp with time zone,
    completed_on timestamp with time zone
);


--
-- Name: job; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.job (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    data jsonb,
    state jobs.job_state DEFAULT 'created'::jobs.job_state NOT NULL,
    retry_limit integer DEFAULT 2 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    retry_delay integer DEFAULT 0 NOT NULL,
    retry_backoff boolean DEFAULT false NOT NULL,
    retry_delay_max integer,
    expire_seconds integer DEFAULT 900 NOT NULL,
    deletion_seconds integer DEFAULT 604800 NOT NULL,
    singleton_key text,
    singleton_on timestamp without time zone,
    group_id text,
    group_tier text,
    start_after timestamp with time zone DEFAULT now() NOT NULL,
    created_on timestamp with time zone DEFAULT now() NOT NULL,
    started_on timestamp with time zone,
    completed_on timestamp with time zone,
    keep_until timestamp with time zone DEFAULT (now() + '336:00:00'::interval) NOT NULL,
    output jsonb,
    dead_letter text,
    policy text,
    heartbeat_on timestamp with time zone,
    heartbeat_seconds integer,
    blocked boolean DEFAULT false NOT NULL,
    blocking boolean DEFAULT false NOT NULL,
    pending_dependencies integer DEFAULT 0 NOT NULL,
    source_name text,
    source_id uuid,
    source_created_on timestamp with time zone,
    source_retry_count integer,
    source_output jsonb,
    source_root_id uuid
)
PARTITION BY LIST (name);


--
-- Name: job_common; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.job_common (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    data jsonb,
    state jobs.job_state DEFAULT 'created'::jobs.job_state NOT NULL,
    retry_limit integer DEFAULT 2 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    retry_delay integer DEFAULT 0 NOT NULL,
    retry_backoff boolean DEFAULT false NOT NULL,
    retry_delay_max integer,
    expire_seconds integer DEFAULT 900 NOT NULL,
    deletion_seconds integer DEFAULT 604800 NOT NULL,
    singleton_key text,
    singleton_on timestamp without time zone,
    group_id text,
    group_tier text,
    start_after timestamp with time zone DEFAULT now() NOT NULL,
    created_on timestamp with time zone DEFAULT now() NOT NULL,
    started_on timestamp with time zone,
    completed_on timestamp with time zone,
    keep_until timestamp with time zone DEFAULT (now() + '336:00:00'::interval) NOT NULL,
    output jsonb,
    dead_letter text,
    policy text,
    heartbeat_on timestamp with time zone,
    heartbeat_seconds integer,
    blocked boolean DEFAULT false NOT NULL,
    blocking boolean DEFAULT false NOT NULL,
    pending_dependencies integer DEFAULT 0 NOT NULL,
    source_name text,
    source_id uuid,
    source_created_on timestamp with time zone,
    source_retry_count integer,
    source_output jsonb,
    source_root_id uuid,
    CONSTRAINT job_key_strict_fifo_singleton_key_check CHECK ((NOT ((policy = 'key_strict_fifo'::text) AND (singleton_key IS NULL))))
);


--
-- Name: job_dependency; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.job_dependency (
    child_name text NOT NULL,
    child_id uuid NOT NULL,
    parent_name text NOT NULL,
    parent_id uuid NOT NULL
);


--
-- Name: queue; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.queue (
    name text NOT NULL,
    policy text NOT NULL,
    retry_limit integer NOT NULL,
    retry_delay integer NOT NULL,
    retry_backoff boolean NOT NULL,
    retry_delay_max integer,
    expire_seconds integer NOT NULL,
    retention_seconds integer NOT NULL,
    deletion_seconds integer NOT NULL,
    dead_letter text,
    partition boolean NOT NULL,
    table_name text NOT NULL,
    deferred_count integer DEFAULT 0 NOT NULL,
    queued_count integer DEFAULT 0 NOT NULL,
    ready_count integer DEFAULT 0 NOT NULL,
    warning_queued integer DEFAULT 0 NOT NULL,
    active_count integer DEFAULT 0 NOT NULL,
    failed_count integer DEFAULT 0 NOT NULL,
    total_count integer DEFAULT 0 NOT NULL,
    created_delta integer DEFAULT 0 NOT NULL,
    completed_delta integer DEFAULT 0 NOT NULL,
    failed_delta integer DEFAULT 0 NOT NULL,
    delta_on timestamp with time zone,
    delta_seconds integer,
    ready_history integer[] DEFAULT '{}'::integer[] NOT NULL,
    heartbeat_seconds integer,
    notify boolean DEFAULT false NOT NULL,
    singletons_active text[],
    monitor_claim_on timestamp with time zone,
    monitor_on timestamp with time zone,
    maintain_on timestamp with time zone,
    created_on timestamp with time zone DEFAULT now() NOT NULL,
    updated_on timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queue_check CHECK ((dead_letter IS DISTINCT FROM name))
);


--
-- Name: queue_stats; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.queue_stats (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    deferred_count integer DEFAULT 0 NOT NULL,
    queued_count integer DEFAULT 0 NOT NULL,
    ready_count integer DEFAULT 0 NOT NULL,
    active_count integer DEFAULT 0 NOT NULL,
    failed_count integer DEFAULT 0 NOT NULL,
    total_count integer DEFAULT 0 NOT NULL,
    created_delta integer,
    completed_delta integer,
    failed_delta integer,
    delta_seconds integer,
    delta_on timestamp with time zone,
    captured_on timestamp with time zone DEFAULT now() NOT NULL
)
PARTITION BY RANGE (captured_on);


--
-- Name: queue_stats_20261122; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.queue_stats_20261122 (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    deferred_count integer DEFAULT 0 NOT NULL,
    queued_count integer DEFAULT 0 NOT NULL,
    ready_count integer DEFAULT 0 NOT NULL,
    active_count integer DEFAULT 0 NOT NULL,
    failed_count integer DEFAULT 0 NOT NULL,
    total_count integer DEFAULT 0 NOT NULL,
    created_delta integer,
    completed_delta integer,
    failed_delta integer,
    delta_seconds integer,
    delta_on timestamp with time zone,
    captured_on timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: queue_stats_20261123; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.queue_stats_20261123 (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text NOT NULL,
    deferred_count integer DEFAULT 0 NOT NULL,
    queued_count integer DEFAULT 0 NOT NULL,
    ready_count integer DEFAULT 0 NOT NULL,
    active_count integer DEFAULT 0 NOT NULL,
    failed_count integer DEFAULT 0 NOT NULL,
    total_count integer DEFAULT 0 NOT NULL,
    created_delta integer,
    completed_delta integer,
    failed_delta integer,
    delta_seconds integer,
    delta_on timestamp with time zone,
    captured_on timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: schedule; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.schedule (
    name text NOT NULL,
    key text DEFAULT ''::text NOT NULL,
    kind text DEFAULT 'cron'::text NOT NULL,
    cron text NOT NULL,
    timezone text DEFAULT 'UTC'::text,
    data jsonb,
    options jsonb,
    created_on timestamp with time zone DEFAULT now() NOT NULL,
    updated_on timestamp with time zone DEFAULT now() NOT NULL,
    last_job_id uuid,
    CONSTRAINT schedule_kind_check CHECK ((kind = ANY (ARRAY['cron'::text, 'rrule'::text])))
);


--
-- Name: subscription; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.subscription (
    event text NOT NULL,
    name text NOT NULL,
    created_on timestamp with time zone DEFAULT now() NOT NULL,
    updated_on timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: version; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.version (
    version integer NOT NULL,
    cron_on timestamp with time zone,
    bam_on timestamp with time zone,
    flow_on timestamp with time zone,
    reindex_on timestamp with time zone,
    monitor_backoff_on timestamp with time zone
);


--
-- Name: warning; Type: TABLE; Schema: jobs; Owner: -
--

CREATE TABLE jobs.warning (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    type text NOT NULL,
    message text NOT NULL,
    data jsonb,
    created_on timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: api_keys; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.api_keys (
    space_id uuid NOT NULL,
    key_id uuid NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    last_four text NOT NULL,
    status text DEFAULT 'Active'::text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text NOT NULL,
    modified_by_name text NOT NULL,
    requests_per_minute integer,
    monthly_budget numeric,
    CONSTRAINT api_keys_check CHECK (((status = 'Revoked'::text) = (revoked_at IS NOT NULL))),
    CONSTRAINT api_keys_monthly_budget_check CHECK ((monthly_budget >= (0)::numeric)),
    CONSTRAINT api_keys_requests_per_minute_check CHECK ((requests_per_minute > 0)),
    CONSTRAINT api_keys_status_check CHECK ((status = ANY (ARRAY['Active'::text, 'Revoked'::text])))
);


--
-- Name: audit_entries; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.audit_entries (
    entry_id uuid NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    operation text NOT NULL,
    space_id uuid,
    resource_type text NOT NULL,
    resource_id text NOT NULL,
    before jsonb,
    after jsonb,
    address text NOT NULL,
    request_id text NOT NULL,
    user_agent text NOT NULL,
    CONSTRAINT audit_entries_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['user'::text, 'client'::text, 'key'::text, 'system'::text])))
);


--
-- Name: cdh_links; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.cdh_links (
    space_id uuid NOT NULL,
    cdh_workspace_id uuid NOT NULL,
    cdh_env_account_id text NOT NULL,
    name text NOT NULL,
    cdh_type text NOT NULL,
    cdh_hub text NOT NULL,
    cdh_provider_id text DEFAULT ''::text NOT NULL,
    cdh_use_case_id text DEFAULT ''::text NOT NULL,
    stage text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text NOT NULL,
    modified_by_name text NOT NULL,
    CONSTRAINT cdh_links_cdh_type_check CHECK ((cdh_type = ANY (ARRAY['Provider'::text, 'UseCase'::text]))),
    CONSTRAINT cdh_links_stage_check CHECK ((stage = ANY (ARRAY['Dev'::text, 'Int'::text, 'Prod'::text])))
);


--
-- Name: client_grants; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.client_grants (
    space_id uuid NOT NULL,
    client_id text NOT NULL,
    role text NOT NULL,
    CONSTRAINT client_grants_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text])))
);


--
-- Name: client_principals; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.client_principals (
    client_id text NOT NULL,
    name text NOT NULL,
    is_superuser boolean DEFAULT false NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    environment text DEFAULT 'prod'::text NOT NULL,
    mail_address text DEFAULT ''::text NOT NULL,
    status text DEFAULT 'Active'::text NOT NULL,
    token_lifetime_seconds integer DEFAULT 3600 NOT NULL,
    approved_at timestamp with time zone DEFAULT now(),
    created_by_id text DEFAULT 'system'::text NOT NULL,
    created_by_name text DEFAULT 'system'::text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text DEFAULT 'system'::text NOT NULL,
    modified_by_name text DEFAULT 'system'::text NOT NULL,
    CONSTRAINT client_principals_environment_check CHECK ((environment = ANY (ARRAY['int'::text, 'prod'::text]))),
    CONSTRAINT client_principals_status_check CHECK ((status = ANY (ARRAY['In Progress'::text, 'Active'::text, 'Disabled'::text])))
);


--
-- Name: cost_daily_totals; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.cost_daily_totals (
    space_id uuid NOT NULL,
    day date NOT NULL,
    service text NOT NULL,
    currency text NOT NULL,
    amount numeric NOT NULL,
    entries bigint NOT NULL
);


--
-- Name: cost_entries; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.cost_entries (
    space_id uuid NOT NULL,
    entry_id uuid NOT NULL,
    day date NOT NULL,
    service text NOT NULL,
    currency text NOT NULL,
    amount numeric NOT NULL,
    usage_details text DEFAULT '{}'::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    status text DEFAULT 'Recorded'::text NOT NULL,
    key_id uuid,
    model text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    CONSTRAINT cost_entries_amount_check CHECK ((amount >= (0)::numeric)),
    CONSTRAINT cost_entries_check CHECK (((key_id IS NULL) = (model IS NULL))),
    CONSTRAINT cost_entries_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text))
);


--
-- Name: former_key_values; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.former_key_values (
    space_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key_hash bytea NOT NULL,
    valid_until timestamp with time zone NOT NULL
);


--
-- Name: invitations; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.invitations (
    space_id uuid NOT NULL,
    invitation_id uuid NOT NULL,
    mail_address text NOT NULL,
    role text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    accepted_by text,
    revoked_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text NOT NULL,
    modified_by_name text NOT NULL,
    CONSTRAINT invitations_check CHECK (((accepted_at IS NULL) OR (revoked_at IS NULL))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text])))
);


--
-- Name: key_monthly_spend; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.key_monthly_spend (
    space_id uuid NOT NULL,
    month date NOT NULL,
    key_id uuid NOT NULL,
    currency text NOT NULL,
    amount numeric NOT NULL
);


--
-- Name: memberships; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.memberships (
    space_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text])))
);


--
-- Name: migrations; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.migrations (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);


--
-- Name: migrations_lock; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.migrations_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
);


--
-- Name: mkflw_workspaces; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.mkflw_workspaces (
    space_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    region text NOT NULL,
    cluster_name text NOT NULL,
    namespace_name text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text NOT NULL,
    modified_by_name text NOT NULL
);


--
-- Name: people; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.people (
    user_id uuid NOT NULL,
    q_number text NOT NULL,
    name text NOT NULL,
    department text DEFAULT ''::text NOT NULL,
    mail_address text DEFAULT ''::text NOT NULL,
    is_superuser boolean DEFAULT false NOT NULL,
    superuser_since timestamp with time zone,
    superuser_created_by text,
    superuser_modified_by text,
    superuser_modified_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: space_budgets; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.space_budgets (
    space_id uuid NOT NULL,
    monthly_budget numeric,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text NOT NULL,
    modified_by_name text NOT NULL,
    CONSTRAINT space_budgets_monthly_budget_check CHECK ((monthly_budget >= (0)::numeric))
);


--
-- Name: space_monthly_spend; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.space_monthly_spend (
    space_id uuid NOT NULL,
    month date NOT NULL,
    currency text NOT NULL,
    amount numeric NOT NULL
);


--
-- Name: spaces; Type: TABLE; Schema: portal; Owner: -
--

CREATE TABLE portal.spaces (
    space_id uuid NOT NULL,
    space_name text NOT NULL,
    app_id text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    itsm_service_offering text DEFAULT ''::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    modified_at timestamp with time zone DEFAULT now() NOT NULL,
    modified_by_id text NOT NULL,
    modified_by_name text NOT NULL
);


--
-- Name: job_common; Type: TABLE ATTACH; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.job ATTACH PARTITION jobs.job_common DEFAULT;


--
-- Name: queue_stats_20261122; Type: TABLE ATTACH; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue_stats ATTACH PARTITION jobs.queue_stats_20261122 FOR VALUES FROM ('2026-11-22 00:00:00+00') TO ('2026-11-23 00:00:00+00');


--
-- Name: queue_stats_20261123; Type: TABLE ATTACH; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue_stats ATTACH PARTITION jobs.queue_stats_20261123 FOR VALUES FROM ('2026-11-23 00:00:00+00') TO ('2026-11-24 00:00:00+00');


--
-- Data for Name: agents; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.agents VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d9f0-7000-86f9-4bd388bfd7da', 'it''s an agent', 'Be brief.
Be kind.', '', 'gpt-4o', 'openai', 'text', '{}', '{}', '{"name": "Administrator", "qxId": "admin"}', NULL, 1, '2026-11-22 05:07:21.714709+00', '2026-11-22 05:07:21.714709+00', DEFAULT);


--
-- Data for Name: messages; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.messages VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da02-7000-b0d9-08df0204247b', '01a201a6-da12-7000-84fb-d620721b985c', 'user', '[{"text": "Hello – Grüße", "type": "text"}]', '{}', NULL, NULL, 1, '2026-11-22 05:07:21.749774+00', DEFAULT),
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da02-7000-b0d9-08df0204247b', '01a201a6-da1e-7000-83d1-b33ea9c4868f', 'assistant', '[{"text": "And to you", "type": "text"}]', '{}', NULL, NULL, 1, '2026-11-22 05:07:21.765014+00', DEFAULT);


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.migrations VALUES
	('0001-agents', '2026-11-22T05:07:19.204Z'),
	('0002-vocabulary', '2026-11-22T05:07:19.229Z'),
	('0003-upkeep', '2026-11-22T05:07:19.295Z'),
	('0004-searched-at', '2026-11-22T05:07:19.316Z');


--
-- Data for Name: migrations_lock; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.migrations_lock VALUES
	('migration_lock', 0);


--
-- Data for Name: retrieval_owner; Type: TABLE DATA; Schema: agents; Owner: -
--



--
-- Data for Name: threads; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.threads VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d9f0-7000-86f9-4bd388bfd7da', '01a201a6-da02-7000-b0d9-08df0204247b', 'first', 'open', '{}', '2026-11-22 05:07:21.765014+00', 1, '2026-11-22 05:07:21.73095+00', '2026-11-22 05:07:21.73095+00', DEFAULT);


--
-- Data for Name: vector_store_upkeep; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.vector_store_upkeep VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da2f-7000-871e-9b83588d994e', '2026-11-22 05:07:21.928354+00', '2026-11-22 05:18:26.004826+00', 0, 0, NULL, NULL, NULL);


--
-- Data for Name: vector_stores; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.vector_stores VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da2f-7000-871e-9b83588d994e', 'store', NULL, 'titan-text-embeddings-v2', 1024, 1000, 200, '{"name": "key", "qxId": "01a201a6-d959-7000-b9c1-cf5c449fa4d9"}', NULL, '{}', 'active', 1, '2026-11-22 05:07:21.779585+00', '2026-11-22 05:07:21.779585+00', DEFAULT, 'english');


--
-- Data for Name: vocabularies; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.vocabularies VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da2f-7000-871e-9b83588d994e', 0, NULL);


--
-- Data for Name: vocabulary_words; Type: TABLE DATA; Schema: agents; Owner: -
--

INSERT INTO agents.vocabulary_words VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da2f-7000-871e-9b83588d994e', 0, 6, 'apples', 'appl', 4751632),
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da2f-7000-871e-9b83588d994e', 0, 5, 'pears', 'pear', 6816016),
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da2f-7000-871e-9b83588d994e', 0, 5, 'plums', 'plum', 21594112);


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: gateway; Owner: -
--

INSERT INTO gateway.migrations VALUES
	('0001-usage', '2026-11-22T05:07:19.045Z');


--
-- Data for Name: migrations_lock; Type: TABLE DATA; Schema: gateway; Owner: -
--

INSERT INTO gateway.migrations_lock VALUES
	('migration_lock', 0);


--
-- Data for Name: rate_buckets; Type: TABLE DATA; Schema: gateway; Owner: -
--



--
-- Data for Name: unrecorded_usage; Type: TABLE DATA; Schema: gateway; Owner: -
--



--
-- Data for Name: usage_journals; Type: TABLE DATA; Schema: gateway; Owner: -
--



--
-- Data for Name: accounts; Type: TABLE DATA; Schema: identity; Owner: -
--

INSERT INTO identity.accounts VALUES
	('admin', 'Administrator', '', '$argon2id$v=19$m=19456,t=2,p=1$MwmGfNbWiP3wWPRoHNfp2g$zVf73eCO5Js+iMrQ6unEYkEhr8+60WAS1wtgMdg8+34', '2026-11-22 05:07:19.846857+00', 1, '2026-11-22 05:07:19.846857+00', '2026-11-22 05:07:19.846857+00', NULL, NULL);


--
-- Data for Name: client_secrets; Type: TABLE DATA; Schema: identity; Owner: -
--

INSERT INTO identity.client_secrets VALUES
	('release-client', '01a201a6-d246-7000-873c-921f0b40fc9e', '\xe7602f71105760996a67f7ab4602bc2af4ae3489e4368e381acb6caa20250bdd', '2026-11-22 05:07:19.74217+00', NULL),
	('01a201a6-d999-7000-b955-487939f18689', '01a201a6-d9c1-7000-bdd8-1ac5e5009bf1', '\x6c8b80edb2f32dc648c15578005d90df00eaad848c6d0abb297c30e2e6cfa85e', '2026-11-22 05:07:21.654059+00', NULL);


--
-- Data for Name: clients; Type: TABLE DATA; Schema: identity; Owner: -
--

INSERT INTO identity.clients VALUES
	('release-client', 'Administration', 'Active', 3600, 1, '2026-11-22 05:07:19.74217+00', '2026-11-22 05:07:19.74217+00', NULL),
	('01a201a6-d999-7000-b955-487939f18689', 'reporting', 'Active', 3600, 2, '2026-11-22 05:07:21.626206+00', '2026-11-22 05:07:21.654059+00', NULL);


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: identity; Owner: -
--

INSERT INTO identity.migrations VALUES
	('0001-identity', '2026-11-22T05:07:18.480Z'),
	('0002-people', '2026-11-22T05:07:18.531Z');


--
-- Data for Name: migrations_lock; Type: TABLE DATA; Schema: identity; Owner: -
--

INSERT INTO identity.migrations_lock VALUES
	('migration_lock', 0);


--
-- Data for Name: oidc_records; Type: TABLE DATA; Schema: identity; Owner: -
--



--
-- Data for Name: revoked_tokens; Type: TABLE DATA; Schema: identity; Owner: -
--



--
-- Data for Name: sessions; Type: TABLE DATA; Schema: identity; Owner: -
--



--
-- Data for Name: signing_keys; Type: TABLE DATA; Schema: identity; Owner: -
--

INSERT INTO identity.signing_keys VALUES
	('Ey3j5Abj4gqH04ub4f-FVPHOasvEuuyj0VMM8cnmy74', 'ES256', '{"x": "Zw-1xdroTn_hMBHze_mwnYHGP2s4BYoDZwD5omJfpDw", "y": "WqYMwpyhkJUrcHnX4ELAphW3i0XxMBycAxsnYXEYTXk", "alg": "ES256", "crv": "P-256", "kid": "Ey3j5Abj4gqH04ub4f-FVPHOasvEuuyj0VMM8cnmy74", "kty": "EC", "use": "sig"}', '\xbb3ba89d1f5a608333be5fe04307edd45cecf74e0f4cce4f4ed24e0dc623f456357f95e390c7ec770ecaea7e87ac01e41056e3974d707d5487535cd265e13d59b3c55abfaf8dd8eb1874e629268a4b31f40474587853b6f48ffd2bc49b7dc081a372c96172f8bbeff1a9cc7189eb048451c40089f127cfdc3bf9c1ad9a66d22b7c964e1f78c698143a34018ecdbbfcb1451ab3222b01b6706e66625499abd2d028b52c6e52f859a5621be46d1c113c5bc7442ff0840c1ff17ecca87a202bf087941e934ebbedb853e9d8c95b05747eafd45ae35910234991cfd0a42e116f0bcfaea8791c81152d484c2cd2268f3b9d95dc196160a4285f4867a214ec66236d05ced8dd9e77e7e86bf1a7b9cf320fa51646bcee1f0e910e3b4852', '2026-11-22 05:07:19.354547+00', '2026-11-22 05:07:19.374+00', NULL);


--
-- Data for Name: bam; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: job_common; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: job_dependency; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: queue; Type: TABLE DATA; Schema: jobs; Owner: -
--

INSERT INTO jobs.queue VALUES
	('__pgboss__send-it', 'standard', 2, 0, false, NULL, 900, 1209600, 604800, NULL, false, 'job_common', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, NULL, '2026-11-22 05:07:21.097528+00', '2026-11-22 05:07:21.097528+00'),
	('identity.rotate-keys', 'standard', 3, 0, true, NULL, 900, 1209600, 604800, NULL, false, 'job_common', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, NULL, '2026-11-22 05:07:21.120545+00', '2026-11-22 05:07:21.120545+00'),
	('identity.delete-expired', 'standard', 3, 0, true, NULL, 900, 1209600, 604800, NULL, false, 'job_common', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, NULL, '2026-11-22 05:07:21.171849+00', '2026-11-22 05:07:21.171849+00'),
	('agents.sweep-vector-stores', 'standard', 3, 0, true, NULL, 900, 1209600, 604800, NULL, false, 'job_common', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, NULL, '2026-11-22 05:07:21.189251+00', '2026-11-22 05:07:21.189251+00'),
	('agents.tidy-vector-stores', 'standard', 3, 0, true, NULL, 900, 1209600, 604800, NULL, false, 'job_common', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, NULL, '2026-11-22 05:07:21.203825+00', '2026-11-22 05:07:21.203825+00');


--
-- Data for Name: queue_stats_20261122; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: queue_stats_20261123; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: schedule; Type: TABLE DATA; Schema: jobs; Owner: -
--

INSERT INTO jobs.schedule VALUES
	('identity.rotate-keys', '', 'cron', '17 3 * * *', 'UTC', NULL, '{}', '2026-11-22 05:07:21.17029+00', '2026-11-22 05:07:21.17029+00', NULL),
	('identity.delete-expired', '', 'cron', '*/10 * * * *', 'UTC', NULL, '{}', '2026-11-22 05:07:21.181777+00', '2026-11-22 05:07:21.181777+00', NULL),
	('agents.sweep-vector-stores', '', 'cron', '*/10 * * * *', 'UTC', NULL, '{}', '2026-11-22 05:07:21.199014+00', '2026-11-22 05:07:21.199014+00', NULL),
	('agents.tidy-vector-stores', '', 'cron', '* * * * *', 'UTC', NULL, '{}', '2026-11-22 05:07:21.215688+00', '2026-11-22 05:07:21.215688+00', NULL);


--
-- Data for Name: subscription; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: version; Type: TABLE DATA; Schema: jobs; Owner: -
--

INSERT INTO jobs.version VALUES
	(43, '2026-11-22 05:07:21.1155+00', '2026-11-22 05:07:21.120229+00', '2026-11-22 05:07:21.101724+00', NULL, NULL);


--
-- Data for Name: warning; Type: TABLE DATA; Schema: jobs; Owner: -
--



--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.api_keys VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d959-7000-b9c1-cf5c449fa4d9', 'key', '\x2fd6cbf43b65fdb2ee85a6e8cfe150fa44219ec6d1544a6ef7978ce623b6c4ca', '7065', 'Active', '2126-01-01 00:00:00+00', NULL, '2026-11-22 05:07:21.787+00', 1, '2026-11-22 05:07:21.562391+00', 'release-client', 'Administration', '2026-11-22 05:07:21.562391+00', 'release-client', 'Administration', NULL, NULL);


--
-- Data for Name: audit_entries; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.audit_entries VALUES
	('01a201a6-d22a-7000-80d7-485ef4b800a6', '2026-11-22 05:07:19.717874+00', 'system', 'system', 'system', 'makeSuperuser', NULL, 'person', '01a201a6-d227-7000-8167-cadc3790a36b', NULL, '{"name": "Administrator", "userId": "01a201a6-d227-7000-8167-cadc3790a36b", "qNumber": "admin", "version": 1, "createdAt": "2026-11-22T05:07:19.717Z", "department": "", "isSuperuser": false, "mailAddress": "", "superuserSince": null, "superuserCreatedBy": null, "superuserModifiedAt": null, "superuserModifiedBy": null}', '', '', ''),
	('01a201a6-d22f-7000-9fce-65046004e90e', '2026-11-22 05:07:19.717874+00', 'system', 'system', 'system', 'makeSuperuser', NULL, 'superuser', '01a201a6-d227-7000-8167-cadc3790a36b', '{"name": "Administrator", "userId": "01a201a6-d227-7000-8167-cadc3790a36b", "qNumber": "admin", "version": 1, "createdAt": "2026-11-22T05:07:19.717Z", "department": "", "isSuperuser": false, "mailAddress": "", "superuserSince": null, "superuserCreatedBy": null, "superuserModifiedAt": null, "superuserModifiedBy": null}', '{"name": "Administrator", "userId": "01a201a6-d227-7000-8167-cadc3790a36b", "qNumber": "admin", "version": 1, "createdAt": "2026-11-22T05:07:19.717Z", "department": "", "isSuperuser": true, "mailAddress": "", "superuserSince": "2026-11-22T05:07:19.717Z", "superuserCreatedBy": "system", "superuserModifiedAt": "2026-11-22T05:07:19.717Z", "superuserModifiedBy": "system"}', '', '', ''),
	('01a201a6-d239-7000-af97-2edc608de9da', '2026-11-22 05:07:19.734737+00', 'system', 'system', 'system', 'makeSuperuserClient', NULL, 'client', 'release-client', NULL, '{"name": "Administration", "clientId": "release-client", "superuser": true}', '', '', ''),
	('01a201a6-d8db-7000-b537-543aa6385b10', '2026-11-22 05:07:21.434142+00', 'client', 'release-client', 'Administration', 'createSpace', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'space', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', NULL, '{"appId": "APP-1", "spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e", "version": 1, "createdAt": "2026-11-22T05:07:21.434Z", "spaceName": "Räume & \"Träume\"", "modifiedAt": "2026-11-22T05:07:21.434Z", "createdById": "release-client", "description": "", "modifiedById": "release-client", "createdByName": "Administration", "modifiedByName": "Administration", "itsmServiceOffering": ""}', '127.0.0.1', '01a201a6-d8a9-7000-b8ea-e2da7cdf6d60', 'node'),
	('01a201a6-d926-7000-a211-ca10f54d7dd0', '2026-11-22 05:07:21.506721+00', 'client', 'release-client', 'Administration', 'addSpaceUser', NULL, 'person', '01a201a6-d227-7000-8167-cadc3790a36b', '{"name": "Administrator", "userId": "01a201a6-d227-7000-8167-cadc3790a36b", "qNumber": "admin", "version": 1, "createdAt": "2026-11-22T05:07:19.717Z", "department": "", "isSuperuser": true, "mailAddress": "", "superuserSince": "2026-11-22T05:07:19.717Z", "superuserCreatedBy": "system", "superuserModifiedAt": "2026-11-22T05:07:19.717Z", "superuserModifiedBy": "system"}', '{"name": "Name of admin", "userId": "01a201a6-d227-7000-8167-cadc3790a36b", "qNumber": "admin", "version": 2, "createdAt": "2026-11-22T05:07:19.717Z", "department": "", "isSuperuser": true, "mailAddress": "admin@example.test", "superuserSince": "2026-11-22T05:07:19.717Z", "superuserCreatedBy": "system", "superuserModifiedAt": "2026-11-22T05:07:19.717Z", "superuserModifiedBy": "system"}', '127.0.0.1', '01a201a6-d8e9-7000-872a-715f4653e32b', 'node'),
	('01a201a6-d928-7000-8a57-5e4894c0f7bd', '2026-11-22 05:07:21.506721+00', 'client', 'release-client', 'Administration', 'addSpaceUser', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'member', '01a201a6-d227-7000-8167-cadc3790a36b', NULL, '{"name": "Name of admin", "role": "owner", "userId": "01a201a6-d227-7000-8167-cadc3790a36b", "qNumber": "admin", "version": 1, "createdAt": "2026-11-22T05:07:21.506Z", "department": "", "modifiedAt": "2026-11-22T05:07:21.506Z", "mailAddress": "admin@example.test"}', '127.0.0.1', '01a201a6-d8e9-7000-872a-715f4653e32b', 'node'),
	('01a201a6-d946-7000-aaee-52bf39b6207c', '2026-11-22 05:07:21.540542+00', 'client', 'release-client', 'Administration', 'addSpaceUser', NULL, 'person', '01a201a6-d945-7000-971b-df3fb6236886', NULL, '{"name": "Name of qx-member", "userId": "01a201a6-d945-7000-971b-df3fb6236886", "qNumber": "qx-member", "version": 1, "createdAt": "2026-11-22T05:07:21.540Z", "department": "", "isSuperuser": false, "mailAddress": "qx-member@example.test", "superuserSince": null, "superuserCreatedBy": null, "superuserModifiedAt": null, "superuserModifiedBy": null}', '127.0.0.1', '01a201a6-d933-7000-ac32-f2621d7af75a', 'node'),
	('01a201a6-d948-7000-bafe-464f8067f337', '2026-11-22 05:07:21.540542+00', 'client', 'release-client', 'Administration', 'addSpaceUser', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'member', '01a201a6-d945-7000-971b-df3fb6236886', NULL, '{"name": "Name of qx-member", "role": "member", "userId": "01a201a6-d945-7000-971b-df3fb6236886", "qNumber": "qx-member", "version": 1, "createdAt": "2026-11-22T05:07:21.540Z", "department": "", "modifiedAt": "2026-11-22T05:07:21.540Z", "mailAddress": "qx-member@example.test"}', '127.0.0.1', '01a201a6-d933-7000-ac32-f2621d7af75a', 'node'),
	('01a201a6-d95c-7000-b55e-1a0cd752a35e', '2026-11-22 05:07:21.562391+00', 'client', 'release-client', 'Administration', 'createApiKey', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'api-key', '01a201a6-d959-7000-b9c1-cf5c449fa4d9', NULL, '{"name": "key", "keyId": "01a201a6-d959-7000-b9c1-cf5c449fa4d9", "status": "Active", "keyHash": "****", "spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e", "version": 1, "lastFour": "7065", "createdAt": "2026-11-22T05:07:21.562Z", "expiresAt": "2126-01-01T00:00:00.000Z", "revokedAt": null, "lastUsedAt": null, "modifiedAt": "2026-11-22T05:07:21.562Z", "createdById": "release-client", "modifiedById": "release-client", "createdByName": "Administration", "monthlyBudget": null, "modifiedByName": "Administration", "requestsPerMinute": null}', '127.0.0.1', '01a201a6-d954-7000-9e97-43b71f12e47e', 'node'),
	('01a201a6-d96b-7000-b54d-b2be31a30013', '2026-11-22 05:07:21.576322+00', 'client', 'release-client', 'Administration', 'setSpaceBudget', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'budget', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', NULL, '{"spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e", "version": 1, "createdAt": "2026-11-22T05:07:21.576Z", "modifiedAt": "2026-11-22T05:07:21.576Z", "createdById": "release-client", "modifiedById": "release-client", "createdByName": "Administration", "monthlyBudget": "250.5", "modifiedByName": "Administration"}', '127.0.0.1', '01a201a6-d964-7000-b14e-2ceb6c7ba824', 'node'),
	('01a201a6-d989-7000-bbb8-284f317e0206', '2026-11-22 05:07:21.601799+00', 'client', 'release-client', 'Administration', 'createInvitation', '01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'invitation', '01a201a6-d97b-7000-85d5-f6b5c867fedb', NULL, '{"role": "member", "spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e", "version": 1, "createdAt": "2026-11-22T05:07:21.601Z", "expiresAt": "2026-11-29T05:07:21.595Z", "revokedAt": null, "acceptedAt": null, "acceptedBy": null, "modifiedAt": "2026-11-22T05:07:21.601Z", "createdById": "release-client", "mailAddress": "guest@example.test", "invitationId": "01a201a6-d97b-7000-85d5-f6b5c867fedb", "modifiedById": "release-client", "createdByName": "Administration", "modifiedByName": "Administration"}', '127.0.0.1', '01a201a6-d979-7000-9c02-2c76abcc26f0', 'node'),
	('01a201a6-d9a9-7000-b124-90f4b47c2688', '2026-11-22 05:07:21.626206+00', 'client', 'release-client', 'Administration', 'createClient', NULL, 'client', '01a201a6-d999-7000-b955-487939f18689', NULL, '{"name": "reporting", "grants": [{"role": "member", "spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e"}], "status": "In Progress", "version": 1, "clientId": "01a201a6-d999-7000-b955-487939f18689", "createdAt": "2026-11-22T05:07:21.626Z", "approvedAt": null, "modifiedAt": "2026-11-22T05:07:21.626Z", "createdById": "release-client", "environment": "int", "isSuperuser": false, "mailAddress": "", "modifiedById": "release-client", "createdByName": "Administration", "modifiedByName": "Administration", "tokenLifetimeSeconds": 3600}', '127.0.0.1', '01a201a6-d995-7000-b0a8-8fe00a14ff62', 'node'),
	('01a201a6-d9c7-7000-a22e-717127e0f2bb', '2026-11-22 05:07:21.654059+00', 'client', 'release-client', 'Administration', 'approveClient', NULL, 'client', '01a201a6-d999-7000-b955-487939f18689', '{"name": "reporting", "grants": [{"role": "member", "spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e"}], "status": "In Progress", "version": 1, "clientId": "01a201a6-d999-7000-b955-487939f18689", "createdAt": "2026-11-22T05:07:21.626Z", "approvedAt": null, "modifiedAt": "2026-11-22T05:07:21.626Z", "createdById": "release-client", "environment": "int", "isSuperuser": false, "mailAddress": "", "modifiedById": "release-client", "createdByName": "Administration", "modifiedByName": "Administration", "tokenLifetimeSeconds": 3600}', '{"name": "reporting", "grants": [{"role": "member", "spaceId": "01a201a6-d8da-7000-89b9-b96d1bef4e1e"}], "status": "Active", "version": 2, "clientId": "01a201a6-d999-7000-b955-487939f18689", "createdAt": "2026-11-22T05:07:21.626Z", "approvedAt": "2026-11-22T05:07:21.669Z", "modifiedAt": "2026-11-22T05:07:21.654Z", "createdById": "release-client", "environment": "int", "isSuperuser": false, "mailAddress": "", "modifiedById": "release-client", "createdByName": "Administration", "modifiedByName": "Administration", "tokenLifetimeSeconds": 3600}', '127.0.0.1', '01a201a6-d9b3-7000-9234-56940ce32b18', 'node');


--
-- Data for Name: cdh_links; Type: TABLE DATA; Schema: portal; Owner: -
--



--
-- Data for Name: client_grants; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.client_grants VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d999-7000-b955-487939f18689', 'member');


--
-- Data for Name: client_principals; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.client_principals VALUES
	('release-client', 'Administration', true, 1, '2026-11-22 05:07:19.734737+00', 'prod', '', 'Active', 3600, '2026-11-22 05:07:19.734737+00', 'system', 'system', '2026-11-22 05:07:19.734737+00', 'system', 'system'),
	('01a201a6-d999-7000-b955-487939f18689', 'reporting', false, 2, '2026-11-22 05:07:21.626206+00', 'int', '', 'Active', 3600, '2026-11-22 05:07:21.669+00', 'release-client', 'Administration', '2026-11-22 05:07:21.654059+00', 'release-client', 'Administration');


--
-- Data for Name: cost_daily_totals; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.cost_daily_totals VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '2026-11-22', 'llm-gateway', 'USD', 0.0002125, 1);


--
-- Data for Name: cost_entries; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.cost_entries VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-da3a-7000-8ed6-e2c31318c4dc', '2026-11-22', 'llm-gateway', 'USD', 0.0002125, '{"model": "gpt-4o (sandbox)", "apiKeyId": "01a201a6-d959-7000-b9c1-cf5c449fa4d9", "requests": 1, "cachedTokens": 0, "promptTokens": 13, "completionTokens": 18}', 'gpt-4o (sandbox) by key key', 'Recorded', '01a201a6-d959-7000-b9c1-cf5c449fa4d9', 'gpt-4o (sandbox)', '2026-11-22 05:07:21.779497+00', '01a201a6-d959-7000-b9c1-cf5c449fa4d9', 'key');


--
-- Data for Name: former_key_values; Type: TABLE DATA; Schema: portal; Owner: -
--



--
-- Data for Name: invitations; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.invitations VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d97b-7000-85d5-f6b5c867fedb', 'guest@example.test', 'member', '2026-11-29 05:07:21.595+00', NULL, NULL, NULL, 1, '2026-11-22 05:07:21.601799+00', 'release-client', 'Administration', '2026-11-22 05:07:21.601799+00', 'release-client', 'Administration');


--
-- Data for Name: key_monthly_spend; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.key_monthly_spend VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '2026-11-01', '01a201a6-d959-7000-b9c1-cf5c449fa4d9', 'USD', 0.0002125);


--
-- Data for Name: memberships; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.memberships VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d227-7000-8167-cadc3790a36b', 'owner', 1, '2026-11-22 05:07:21.506721+00', '2026-11-22 05:07:21.506721+00'),
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '01a201a6-d945-7000-971b-df3fb6236886', 'member', 1, '2026-11-22 05:07:21.540542+00', '2026-11-22 05:07:21.540542+00');


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.migrations VALUES
	('0001-foundation', '2026-11-22T05:07:18.771Z'),
	('0002-clients-budgets-audit-invitations', '2026-11-22T05:07:18.883Z');


--
-- Data for Name: migrations_lock; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.migrations_lock VALUES
	('migration_lock', 0);


--
-- Data for Name: mkflw_workspaces; Type: TABLE DATA; Schema: portal; Owner: -
--



--
-- Data for Name: people; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.people VALUES
	('01a201a6-d227-7000-8167-cadc3790a36b', 'admin', 'Name of admin', '', 'admin@example.test', true, '2026-11-22 05:07:19.717874+00', 'system', 'system', '2026-11-22 05:07:19.717874+00', 2, '2026-11-22 05:07:19.717874+00'),
	('01a201a6-d945-7000-971b-df3fb6236886', 'qx-member', 'Name of qx-member', '', 'qx-member@example.test', false, NULL, NULL, NULL, NULL, 1, '2026-11-22 05:07:21.540542+00');


--
-- Data for Name: space_budgets; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.space_budgets VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', 250.5, 1, '2026-11-22 05:07:21.576322+00', 'release-client', 'Administration', '2026-11-22 05:07:21.576322+00', 'release-client', 'Administration');


--
-- Data for Name: space_monthly_spend; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.space_monthly_spend VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', '2026-11-01', 'USD', 0.0002125);


--
-- Data for Name: spaces; Type: TABLE DATA; Schema: portal; Owner: -
--

INSERT INTO portal.spaces VALUES
	('01a201a6-d8da-7000-89b9-b96d1bef4e1e', 'Räume & "Träume"', 'APP-1', '', '', 1, '2026-11-22 05:07:21.434142+00', 'release-client', 'Administration', '2026-11-22 05:07:21.434142+00', 'release-client', 'Administration');


--
-- Name: unrecorded_usage_id_seq; Type: SEQUENCE SET; Schema: gateway; Owner: -
--

SELECT pg_catalog.setval('gateway.unrecorded_usage_id_seq', 1, false);


--
-- Name: agents agents_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (space_id, agent_id);


--
-- Name: messages messages_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (space_id, thread_id, message_id);


--
-- Name: migrations_lock migrations_lock_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.migrations_lock
    ADD CONSTRAINT migrations_lock_pkey PRIMARY KEY (id);


--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);


--
-- Name: retrieval_owner retrieval_owner_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.retrieval_owner
    ADD CONSTRAINT retrieval_owner_pkey PRIMARY KEY (only_row);


--
-- Name: threads threads_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.threads
    ADD CONSTRAINT threads_pkey PRIMARY KEY (space_id, thread_id);


--
-- Name: vector_store_upkeep vector_store_upkeep_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vector_store_upkeep
    ADD CONSTRAINT vector_store_upkeep_pkey PRIMARY KEY (space_id, vector_store_id);


--
-- Name: vector_stores vector_stores_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vector_stores
    ADD CONSTRAINT vector_stores_pkey PRIMARY KEY (space_id, vector_store_id);


--
-- Name: vocabularies vocabularies_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vocabularies
    ADD CONSTRAINT vocabularies_pkey PRIMARY KEY (space_id, vector_store_id);


--
-- Name: vocabulary_words vocabulary_words_pkey; Type: CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vocabulary_words
    ADD CONSTRAINT vocabulary_words_pkey PRIMARY KEY (space_id, vector_store_id, epoch, size, word) INCLUDE (stem, letters);


--
-- Name: migrations_lock migrations_lock_pkey; Type: CONSTRAINT; Schema: gateway; Owner: -
--

ALTER TABLE ONLY gateway.migrations_lock
    ADD CONSTRAINT migrations_lock_pkey PRIMARY KEY (id);


--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: gateway; Owner: -
--

ALTER TABLE ONLY gateway.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);


--
-- Name: rate_buckets rate_buckets_pkey; Type: CONSTRAINT; Schema: gateway; Owner: -
--

ALTER TABLE ONLY gateway.rate_buckets
    ADD CONSTRAINT rate_buckets_pkey PRIMARY KEY (key_id);


--
-- Name: unrecorded_usage unrecorded_usage_pkey; Type: CONSTRAINT; Schema: gateway; Owner: -
--

ALTER TABLE ONLY gateway.unrecorded_usage
    ADD CONSTRAINT unrecorded_usage_pkey PRIMARY KEY (id);


--
-- Name: usage_journals usage_journals_pkey; Type: CONSTRAINT; Schema: gateway; Owner: -
--

ALTER TABLE ONLY gateway.usage_journals
    ADD CONSTRAINT usage_journals_pkey PRIMARY KEY (journal_id);


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (qx_id);


--
-- Name: client_secrets client_secrets_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.client_secrets
    ADD CONSTRAINT client_secrets_pkey PRIMARY KEY (client_id, secret_id);


--
-- Name: clients clients_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (client_id);


--
-- Name: migrations_lock migrations_lock_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.migrations_lock
    ADD CONSTRAINT migrations_lock_pkey PRIMARY KEY (id);


--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);


--
-- Name: oidc_records oidc_records_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.oidc_records
    ADD CONSTRAINT oidc_records_pkey PRIMARY KEY (model, id);


--
-- Name: revoked_tokens revoked_tokens_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.revoked_tokens
    ADD CONSTRAINT revoked_tokens_pkey PRIMARY KEY (jti);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (session_id);


--
-- Name: signing_keys signing_keys_pkey; Type: CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);


--
-- Name: bam bam_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.bam
    ADD CONSTRAINT bam_pkey PRIMARY KEY (id);


--
-- Name: job job_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (name, id);


--
-- Name: job_common job_common_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.job_common
    ADD CONSTRAINT job_common_pkey PRIMARY KEY (name, id);


--
-- Name: job_dependency job_dependency_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.job_dependency
    ADD CONSTRAINT job_dependency_pkey PRIMARY KEY (child_name, child_id, parent_name, parent_id);


--
-- Name: queue queue_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (name);


--
-- Name: queue_stats queue_stats_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue_stats
    ADD CONSTRAINT queue_stats_pkey PRIMARY KEY (id, captured_on);


--
-- Name: queue_stats_20261122 queue_stats_20261122_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue_stats_20261122
    ADD CONSTRAINT queue_stats_20261122_pkey PRIMARY KEY (id, captured_on);


--
-- Name: queue_stats_20261123 queue_stats_20261123_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue_stats_20261123
    ADD CONSTRAINT queue_stats_20261123_pkey PRIMARY KEY (id, captured_on);


--
-- Name: schedule schedule_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (name, key);


--
-- Name: subscription subscription_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.subscription
    ADD CONSTRAINT subscription_pkey PRIMARY KEY (event, name);


--
-- Name: version version_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.version
    ADD CONSTRAINT version_pkey PRIMARY KEY (version);


--
-- Name: warning warning_pkey; Type: CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.warning
    ADD CONSTRAINT warning_pkey PRIMARY KEY (id);


--
-- Name: api_keys api_keys_hash_unique; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.api_keys
    ADD CONSTRAINT api_keys_hash_unique UNIQUE (key_hash);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (space_id, key_id);


--
-- Name: audit_entries audit_entries_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (entry_id);


--
-- Name: cdh_links cdh_links_name_unique; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cdh_links
    ADD CONSTRAINT cdh_links_name_unique UNIQUE (space_id, name);


--
-- Name: cdh_links cdh_links_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cdh_links
    ADD CONSTRAINT cdh_links_pkey PRIMARY KEY (space_id, cdh_workspace_id);


--
-- Name: client_grants client_grants_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.client_grants
    ADD CONSTRAINT client_grants_pkey PRIMARY KEY (space_id, client_id);


--
-- Name: client_principals client_principals_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.client_principals
    ADD CONSTRAINT client_principals_pkey PRIMARY KEY (client_id);


--
-- Name: cost_daily_totals cost_daily_totals_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cost_daily_totals
    ADD CONSTRAINT cost_daily_totals_pkey PRIMARY KEY (space_id, day, service, currency);


--
-- Name: cost_entries cost_entries_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cost_entries
    ADD CONSTRAINT cost_entries_pkey PRIMARY KEY (space_id, entry_id);


--
-- Name: former_key_values former_key_values_hash_unique; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.former_key_values
    ADD CONSTRAINT former_key_values_hash_unique UNIQUE (key_hash);


--
-- Name: former_key_values former_key_values_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.former_key_values
    ADD CONSTRAINT former_key_values_pkey PRIMARY KEY (space_id, key_id, key_hash);


--
-- Name: invitations invitations_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (space_id, invitation_id);


--
-- Name: key_monthly_spend key_monthly_spend_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.key_monthly_spend
    ADD CONSTRAINT key_monthly_spend_pkey PRIMARY KEY (space_id, month, key_id, currency);


--
-- Name: memberships memberships_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (space_id, user_id);


--
-- Name: migrations_lock migrations_lock_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.migrations_lock
    ADD CONSTRAINT migrations_lock_pkey PRIMARY KEY (id);


--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);


--
-- Name: mkflw_workspaces mkflw_workspaces_namespace_unique; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.mkflw_workspaces
    ADD CONSTRAINT mkflw_workspaces_namespace_unique UNIQUE (space_id, namespace_name);


--
-- Name: mkflw_workspaces mkflw_workspaces_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.mkflw_workspaces
    ADD CONSTRAINT mkflw_workspaces_pkey PRIMARY KEY (space_id, workspace_id);


--
-- Name: people people_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (user_id);


--
-- Name: people people_q_number_unique; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.people
    ADD CONSTRAINT people_q_number_unique UNIQUE (q_number);


--
-- Name: space_budgets space_budgets_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.space_budgets
    ADD CONSTRAINT space_budgets_pkey PRIMARY KEY (space_id);


--
-- Name: space_monthly_spend space_monthly_spend_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.space_monthly_spend
    ADD CONSTRAINT space_monthly_spend_pkey PRIMARY KEY (space_id, month, currency);


--
-- Name: spaces spaces_pkey; Type: CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.spaces
    ADD CONSTRAINT spaces_pkey PRIMARY KEY (space_id);


--
-- Name: agents_in_order; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX agents_in_order ON agents.agents USING btree (space_id, created_at, agent_id);


--
-- Name: messages_in_order; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX messages_in_order ON agents.messages USING btree (space_id, thread_id, created_at, message_id);


--
-- Name: threads_in_order; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX threads_in_order ON agents.threads USING btree (space_id, agent_id, created_at, thread_id);


--
-- Name: vector_store_upkeep_dirty; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX vector_store_upkeep_dirty ON agents.vector_store_upkeep USING btree (dirty_since) WHERE (dirty_since IS NOT NULL);


--
-- Name: vector_store_upkeep_leased; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX vector_store_upkeep_leased ON agents.vector_store_upkeep USING btree (leased_until) WHERE (leased_until IS NOT NULL);


--
-- Name: vector_store_upkeep_prune; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX vector_store_upkeep_prune ON agents.vector_store_upkeep USING btree (prune_after) WHERE (prune_after IS NOT NULL);


--
-- Name: vector_stores_deleting; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX vector_stores_deleting ON agents.vector_stores USING btree (updated_at) WHERE (status = 'deleting'::text);


--
-- Name: vector_stores_in_order; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX vector_stores_in_order ON agents.vector_stores USING btree (space_id, created_at, vector_store_id);


--
-- Name: vocabulary_words_by_stem; Type: INDEX; Schema: agents; Owner: -
--

CREATE INDEX vocabulary_words_by_stem ON agents.vocabulary_words USING btree (hashtextextended(stem, hashtextextended((vector_store_id)::text, (0)::bigint)));


--
-- Name: clients_in_order; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX clients_in_order ON identity.clients USING btree (created_at, client_id);


--
-- Name: oidc_records_by_expiry; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX oidc_records_by_expiry ON identity.oidc_records USING btree (expires_at);


--
-- Name: oidc_records_by_grant; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX oidc_records_by_grant ON identity.oidc_records USING btree (grant_id) WHERE (grant_id IS NOT NULL);


--
-- Name: oidc_records_by_session; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX oidc_records_by_session ON identity.oidc_records USING btree (session_id) WHERE (session_id IS NOT NULL);


--
-- Name: oidc_records_by_uid; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX oidc_records_by_uid ON identity.oidc_records USING btree (model, uid) WHERE (uid IS NOT NULL);


--
-- Name: oidc_records_by_user_code; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX oidc_records_by_user_code ON identity.oidc_records USING btree (model, user_code) WHERE (user_code IS NOT NULL);


--
-- Name: oidc_records_grants; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX oidc_records_grants ON identity.oidc_records USING btree (account_id) WHERE (model = 'Grant'::text);


--
-- Name: revoked_tokens_by_expiry; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX revoked_tokens_by_expiry ON identity.revoked_tokens USING btree (expires_at);


--
-- Name: sessions_by_expiry; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX sessions_by_expiry ON identity.sessions USING btree (expires_at);


--
-- Name: sessions_of_person; Type: INDEX; Schema: identity; Owner: -
--

CREATE INDEX sessions_of_person ON identity.sessions USING btree (qx_id, created_at);


--
-- Name: job_common_i1; Type: INDEX; Schema: jobs; Owner: -
--

CREATE UNIQUE INDEX job_common_i1 ON jobs.job_common USING btree (name, COALESCE(singleton_key, ''::text)) WHERE ((state = 'created'::jobs.job_state) AND (policy = 'short'::text));


--
-- Name: job_common_i10; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX job_common_i10 ON jobs.job_common USING btree (name, singleton_key, state DESC, created_on, id) INCLUDE (start_after) WHERE ((state < 'active'::jobs.job_state) AND (NOT blocked) AND (policy = 'key_strict_fifo'::text));


--
-- Name: job_common_i11; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX job_common_i11 ON jobs.job_common USING btree (name, priority DESC, created_on, start_after) WHERE ((state < 'active'::jobs.job_state) AND (NOT blocked));


--
-- Name: job_common_i12; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX job_common_i12 ON jobs.job_common USING btree (source_root_id) WHERE (source_root_id IS NOT NULL);


--
-- Name: job_common_i2; Type: INDEX; Schema: jobs; Owner: -
--

CREATE UNIQUE INDEX job_common_i2 ON jobs.job_common USING btree (name, COALESCE(singleton_key, ''::text)) WHERE ((state = 'active'::jobs.job_state) AND (policy = 'singleton'::text));


--
-- Name: job_common_i3; Type: INDEX; Schema: jobs; Owner: -
--

CREATE UNIQUE INDEX job_common_i3 ON jobs.job_common USING btree (name, state, COALESCE(singleton_key, ''::text)) WHERE ((state <= 'active'::jobs.job_state) AND (policy = 'stately'::text));


--
-- Name: job_common_i4; Type: INDEX; Schema: jobs; Owner: -
--

CREATE UNIQUE INDEX job_common_i4 ON jobs.job_common USING btree (name, singleton_on, COALESCE(singleton_key, ''::text)) WHERE ((state <> 'cancelled'::jobs.job_state) AND (singleton_on IS NOT NULL));


--
-- Name: job_common_i6; Type: INDEX; Schema: jobs; Owner: -
--

CREATE UNIQUE INDEX job_common_i6 ON jobs.job_common USING btree (name, COALESCE(singleton_key, ''::text)) WHERE ((state <= 'active'::jobs.job_state) AND (policy = 'exclusive'::text));


--
-- Name: job_common_i7; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX job_common_i7 ON jobs.job_common USING btree (name, group_id) WHERE ((state = 'active'::jobs.job_state) AND (group_id IS NOT NULL));


--
-- Name: job_common_i8; Type: INDEX; Schema: jobs; Owner: -
--

CREATE UNIQUE INDEX job_common_i8 ON jobs.job_common USING btree (name, singleton_key) WHERE ((state = ANY (ARRAY['active'::jobs.job_state, 'retry'::jobs.job_state, 'failed'::jobs.job_state])) AND (policy = 'key_strict_fifo'::text));


--
-- Name: job_common_i9; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX job_common_i9 ON jobs.job_common USING btree (name, id) WHERE (blocking AND (state = 'completed'::jobs.job_state));


--
-- Name: job_dep_parent_idx; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX job_dep_parent_idx ON jobs.job_dependency USING btree (parent_name, parent_id);


--
-- Name: queue_stats_i1; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX queue_stats_i1 ON ONLY jobs.queue_stats USING btree (name, captured_on DESC) INCLUDE (deferred_count, queued_count, ready_count, active_count, failed_count, total_count);


--
-- Name: queue_stats_20261122_name_captured_on_deferred_count_queued_idx; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX queue_stats_20261122_name_captured_on_deferred_count_queued_idx ON jobs.queue_stats_20261122 USING btree (name, captured_on DESC) INCLUDE (deferred_count, queued_count, ready_count, active_count, failed_count, total_count);


--
-- Name: queue_stats_20261123_name_captured_on_deferred_count_queued_idx; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX queue_stats_20261123_name_captured_on_deferred_count_queued_idx ON jobs.queue_stats_20261123 USING btree (name, captured_on DESC) INCLUDE (deferred_count, queued_count, ready_count, active_count, failed_count, total_count);


--
-- Name: warning_i1; Type: INDEX; Schema: jobs; Owner: -
--

CREATE INDEX warning_i1 ON jobs.warning USING btree (created_on DESC);


--
-- Name: audit_entries_in_order; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX audit_entries_in_order ON portal.audit_entries USING btree (at, entry_id);


--
-- Name: audit_entries_of_space; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX audit_entries_of_space ON portal.audit_entries USING btree (space_id, at, entry_id);


--
-- Name: client_grants_by_client; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX client_grants_by_client ON portal.client_grants USING btree (client_id, space_id);


--
-- Name: client_principals_in_order; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX client_principals_in_order ON portal.client_principals USING btree (created_at, client_id);


--
-- Name: cost_entries_by_day; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX cost_entries_by_day ON portal.cost_entries USING btree (space_id, day) INCLUDE (currency, service, amount);


--
-- Name: cost_entries_usage; Type: INDEX; Schema: portal; Owner: -
--

CREATE UNIQUE INDEX cost_entries_usage ON portal.cost_entries USING btree (space_id, day, key_id, model, currency) WHERE (key_id IS NOT NULL);


--
-- Name: memberships_by_user; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX memberships_by_user ON portal.memberships USING btree (user_id, space_id);


--
-- Name: mkflw_workspaces_by_cluster; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX mkflw_workspaces_by_cluster ON portal.mkflw_workspaces USING btree (cluster_name, space_id);


--
-- Name: people_superusers; Type: INDEX; Schema: portal; Owner: -
--

CREATE INDEX people_superusers ON portal.people USING btree (superuser_since, user_id) WHERE is_superuser;


--
-- Name: job_common_pkey; Type: INDEX ATTACH; Schema: jobs; Owner: -
--

ALTER INDEX jobs.job_pkey ATTACH PARTITION jobs.job_common_pkey;


--
-- Name: queue_stats_20261122_name_captured_on_deferred_count_queued_idx; Type: INDEX ATTACH; Schema: jobs; Owner: -
--

ALTER INDEX jobs.queue_stats_i1 ATTACH PARTITION jobs.queue_stats_20261122_name_captured_on_deferred_count_queued_idx;


--
-- Name: queue_stats_20261122_pkey; Type: INDEX ATTACH; Schema: jobs; Owner: -
--

ALTER INDEX jobs.queue_stats_pkey ATTACH PARTITION jobs.queue_stats_20261122_pkey;


--
-- Name: queue_stats_20261123_name_captured_on_deferred_count_queued_idx; Type: INDEX ATTACH; Schema: jobs; Owner: -
--

ALTER INDEX jobs.queue_stats_i1 ATTACH PARTITION jobs.queue_stats_20261123_name_captured_on_deferred_count_queued_idx;


--
-- Name: queue_stats_20261123_pkey; Type: INDEX ATTACH; Schema: jobs; Owner: -
--

ALTER INDEX jobs.queue_stats_pkey ATTACH PARTITION jobs.queue_stats_20261123_pkey;


--
-- Name: audit_entries audit_entries_append_only; Type: TRIGGER; Schema: portal; Owner: -
--

CREATE TRIGGER audit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON portal.audit_entries FOR EACH STATEMENT EXECUTE FUNCTION portal.refuse_audit_change();

ALTER TABLE portal.audit_entries ENABLE ALWAYS TRIGGER audit_entries_append_only;


--
-- Name: agents agents_space_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.agents
    ADD CONSTRAINT agents_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: messages messages_space_id_thread_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.messages
    ADD CONSTRAINT messages_space_id_thread_id_fkey FOREIGN KEY (space_id, thread_id) REFERENCES agents.threads(space_id, thread_id) ON DELETE CASCADE;


--
-- Name: threads threads_space_id_agent_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.threads
    ADD CONSTRAINT threads_space_id_agent_id_fkey FOREIGN KEY (space_id, agent_id) REFERENCES agents.agents(space_id, agent_id) ON DELETE CASCADE;


--
-- Name: vector_store_upkeep vector_store_upkeep_space_id_vector_store_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vector_store_upkeep
    ADD CONSTRAINT vector_store_upkeep_space_id_vector_store_id_fkey FOREIGN KEY (space_id, vector_store_id) REFERENCES agents.vector_stores(space_id, vector_store_id) ON DELETE CASCADE;


--
-- Name: vector_stores vector_stores_space_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vector_stores
    ADD CONSTRAINT vector_stores_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: vocabularies vocabularies_space_id_vector_store_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vocabularies
    ADD CONSTRAINT vocabularies_space_id_vector_store_id_fkey FOREIGN KEY (space_id, vector_store_id) REFERENCES agents.vector_stores(space_id, vector_store_id) ON DELETE CASCADE;


--
-- Name: vocabulary_words vocabulary_words_space_id_vector_store_id_fkey; Type: FK CONSTRAINT; Schema: agents; Owner: -
--

ALTER TABLE ONLY agents.vocabulary_words
    ADD CONSTRAINT vocabulary_words_space_id_vector_store_id_fkey FOREIGN KEY (space_id, vector_store_id) REFERENCES agents.vocabularies(space_id, vector_store_id) ON DELETE CASCADE;


--
-- Name: client_secrets client_secrets_client_id_fkey; Type: FK CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.client_secrets
    ADD CONSTRAINT client_secrets_client_id_fkey FOREIGN KEY (client_id) REFERENCES identity.clients(client_id) ON DELETE CASCADE;


--
-- Name: sessions sessions_qx_id_fkey; Type: FK CONSTRAINT; Schema: identity; Owner: -
--

ALTER TABLE ONLY identity.sessions
    ADD CONSTRAINT sessions_qx_id_fkey FOREIGN KEY (qx_id) REFERENCES identity.accounts(qx_id) ON DELETE CASCADE;


--
-- Name: job_common dlq_fkey; Type: FK CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.job_common
    ADD CONSTRAINT dlq_fkey FOREIGN KEY (dead_letter) REFERENCES jobs.queue(name) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;


--
-- Name: job_common q_fkey; Type: FK CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.job_common
    ADD CONSTRAINT q_fkey FOREIGN KEY (name) REFERENCES jobs.queue(name) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;


--
-- Name: queue queue_dead_letter_fkey; Type: FK CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.queue
    ADD CONSTRAINT queue_dead_letter_fkey FOREIGN KEY (dead_letter) REFERENCES jobs.queue(name);


--
-- Name: schedule schedule_name_fkey; Type: FK CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.schedule
    ADD CONSTRAINT schedule_name_fkey FOREIGN KEY (name) REFERENCES jobs.queue(name) ON DELETE CASCADE;


--
-- Name: subscription subscription_name_fkey; Type: FK CONSTRAINT; Schema: jobs; Owner: -
--

ALTER TABLE ONLY jobs.subscription
    ADD CONSTRAINT subscription_name_fkey FOREIGN KEY (name) REFERENCES jobs.queue(name) ON DELETE CASCADE;


--
-- Name: api_keys api_keys_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.api_keys
    ADD CONSTRAINT api_keys_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: cdh_links cdh_links_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cdh_links
    ADD CONSTRAINT cdh_links_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: client_grants client_grants_client_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.client_grants
    ADD CONSTRAINT client_grants_client_id_fkey FOREIGN KEY (client_id) REFERENCES portal.client_principals(client_id) ON DELETE CASCADE;


--
-- Name: client_grants client_grants_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.client_grants
    ADD CONSTRAINT client_grants_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: cost_daily_totals cost_daily_totals_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cost_daily_totals
    ADD CONSTRAINT cost_daily_totals_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: cost_entries cost_entries_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.cost_entries
    ADD CONSTRAINT cost_entries_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: former_key_values former_key_values_space_id_key_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.former_key_values
    ADD CONSTRAINT former_key_values_space_id_key_id_fkey FOREIGN KEY (space_id, key_id) REFERENCES portal.api_keys(space_id, key_id) ON DELETE CASCADE;


--
-- Name: invitations invitations_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.invitations
    ADD CONSTRAINT invitations_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: key_monthly_spend key_monthly_spend_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.key_monthly_spend
    ADD CONSTRAINT key_monthly_spend_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: memberships memberships_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.memberships
    ADD CONSTRAINT memberships_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: memberships memberships_user_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.memberships
    ADD CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES portal.people(user_id);


--
-- Name: mkflw_workspaces mkflw_workspaces_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.mkflw_workspaces
    ADD CONSTRAINT mkflw_workspaces_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: space_budgets space_budgets_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.space_budgets
    ADD CONSTRAINT space_budgets_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- Name: space_monthly_spend space_monthly_spend_space_id_fkey; Type: FK CONSTRAINT; Schema: portal; Owner: -
--

ALTER TABLE ONLY portal.space_monthly_spend
    ADD CONSTRAINT space_monthly_spend_space_id_fkey FOREIGN KEY (space_id) REFERENCES portal.spaces(space_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--



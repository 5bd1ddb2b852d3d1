-- A ledger as tacit wrote it before totals were sealed (format 1): its database, then its mark as a comment.
PRAGMA application_id = 502807;
BEGIN TRANSACTION;
CREATE TABLE account (
    dataset TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('total', 'analyst', 'group')), name TEXT NOT NULL,
    span INTEGER CHECK (span IS NULL OR (span > 0 AND scope = 'analyst')), since INTEGER NOT NULL CHECK (since >= 0),
    epsilon TEXT NOT NULL CHECK (epsilon GLOB '[0-9]*/[1-9]*' AND epsilon NOT GLOB '*[^0-9/]*' AND epsilon NOT GLOB '*/*/*'), delta TEXT NOT NULL CHECK (delta GLOB '[0-9]*/[1-9]*' AND delta NOT GLOB '*[^0-9/]*' AND delta NOT GLOB '*/*/*'), rho TEXT  CHECK (rho GLOB '[0-9]*/[1-9]*' AND rho NOT GLOB '*[^0-9/]*' AND rho NOT GLOB '*/*/*'),
    slack TEXT NOT NULL CHECK (slack GLOB '[0-9]*/[1-9]*' AND slack NOT GLOB '*[^0-9/]*' AND slack NOT GLOB '*/*/*'), PRIMARY KEY (dataset, scope, name)) STRICT, WITHOUT ROWID;
INSERT INTO "account" VALUES('clinic','analyst','ana',86400000,1759968000000,'2/5','1/250000000',NULL,'0/1');
INSERT INTO "account" VALUES('clinic','analyst','bob',NULL,0,'1/3','0/1','1/20','1/10000000');
INSERT INTO "account" VALUES('clinic','analyst','curator',NULL,0,'1/4','0/1','1/32','0/1');
INSERT INTO "account" VALUES('clinic','group','staff',NULL,0,'2/5','1/250000000',NULL,'0/1');
INSERT INTO "account" VALUES('clinic','total','',NULL,0,'59/60','1/250000000',NULL,'1/10000000');
INSERT INTO "account" VALUES('tax office','analyst','ana',NULL,0,'1/10','1/1000000000',NULL,'0/1');
INSERT INTO "account" VALUES('tax office','total','',NULL,0,'1/10','1/1000000000',NULL,'0/1');
CREATE TABLE answer (
    charge INTEGER PRIMARY KEY REFERENCES entry (seq), dataset TEXT NOT NULL, key TEXT, family TEXT,
    data_version TEXT, audience TEXT, facts TEXT, body BLOB NOT NULL) STRICT;
INSERT INTO "answer" VALUES(1,'clinic','key 0','f','1','ana','{}',X'61626F7574203430');
INSERT INTO "answer" VALUES(3,'clinic','key 1','f','1',NULL,'{}',X'61626F7574203431');
INSERT INTO "answer" VALUES(7,'clinic','key 3','f','1',NULL,'{}',X'61626F7574203433');
INSERT INTO "answer" VALUES(9,'clinic',NULL,NULL,NULL,NULL,NULL,X'61626F7574203434');
INSERT INTO "answer" VALUES(11,'clinic',NULL,NULL,NULL,NULL,NULL,X'5B335D');
INSERT INTO "answer" VALUES(13,'clinic',NULL,NULL,NULL,NULL,NULL,X'78');
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY CHECK (seq >= 0), at INTEGER NOT NULL CHECK (at >= 0),
    act TEXT NOT NULL CHECK (act IN ('open', 'charge', 'settle', 'fail', 'accept')),
    dataset TEXT, analyst TEXT, groups TEXT, epsilon TEXT  CHECK (epsilon GLOB '[0-9]*/[1-9]*' AND epsilon NOT GLOB '*[^0-9/]*' AND epsilon NOT GLOB '*/*/*'), delta TEXT  CHECK (delta GLOB '[0-9]*/[1-9]*' AND delta NOT GLOB '*[^0-9/]*' AND delta NOT GLOB '*/*/*'), rho TEXT  CHECK (rho GLOB '[0-9]*/[1-9]*' AND rho NOT GLOB '*[^0-9/]*' AND rho NOT GLOB '*/*/*'),
    slack TEXT  CHECK (slack GLOB '[0-9]*/[1-9]*' AND slack NOT GLOB '*[^0-9/]*' AND slack NOT GLOB '*/*/*'), plan_hash TEXT, policy_version TEXT, request_id TEXT, kind TEXT, note TEXT,
    charge INTEGER REFERENCES entry (seq), digest TEXT, prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    CHECK (act <> 'charge' OR (dataset IS NOT NULL AND analyst IS NOT NULL AND groups IS NOT NULL
        AND epsilon IS NOT NULL AND delta IS NOT NULL AND slack IS NOT NULL AND plan_hash IS NOT NULL)),
    CHECK ((charge IS NOT NULL) = (act IN ('settle', 'fail')) AND (charge IS NULL OR charge < seq))) STRICT;
INSERT INTO "entry" VALUES(0,1760000061000,'open',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'0000000000000000000000000000000000000000000000000000000000000000','59d6d9529b071ff303b71593384d195b2c01676c8370faff351458978413e5ec');
INSERT INTO "entry" VALUES(1,1760000122000,'charge','clinic','ana','["staff"]','1/10','1/1000000000',NULL,'0/1','plan 0','v1','request 0','query',NULL,NULL,NULL,'59d6d9529b071ff303b71593384d195b2c01676c8370faff351458978413e5ec','748b2bfb6990f88542aa25b8a4c0a77b23e47ab47250ebd76130aae5e131f275');
INSERT INTO "entry" VALUES(2,1760000183000,'settle','clinic','ana',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'32c36442bc40d02570ed17cab00ad9189c764fd53959a079773a90ae06af5484','748b2bfb6990f88542aa25b8a4c0a77b23e47ab47250ebd76130aae5e131f275','861e51d42615ae2c8d925a0da8c32cab4113c4b193b51257e458b825ce9d8b37');
INSERT INTO "entry" VALUES(3,1760000244000,'charge','clinic','ana','["staff"]','1/10','1/1000000000',NULL,'0/1','plan 1','v1','request 1','query',NULL,NULL,NULL,'861e51d42615ae2c8d925a0da8c32cab4113c4b193b51257e458b825ce9d8b37','0aa79ac9c5934da1f5aaf26b3017d474bc828bf4ed67ac4d5ddead3225a21406');
INSERT INTO "entry" VALUES(4,1760000305000,'settle','clinic','ana',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,'8e82bd41566b0e9ca20a0e7f8fb93dd358a3afb2e2f6dcdf678cc7dccbe7d785','0aa79ac9c5934da1f5aaf26b3017d474bc828bf4ed67ac4d5ddead3225a21406','5ffae3772b80ecab62f70ccac105e72f281d2db94297dd44e9289721ea81a881');
INSERT INTO "entry" VALUES(5,1760000366000,'charge','clinic','ana','["staff"]','1/10','1/1000000000',NULL,'0/1','plan 2','v1','request 2','query',NULL,NULL,NULL,'5ffae3772b80ecab62f70ccac105e72f281d2db94297dd44e9289721ea81a881','c0d98a32cddbb54ea16ce2e8f52a688bd984691738089675e7dbb6f427161d7d');
INSERT INTO "entry" VALUES(6,1760000427000,'fail','clinic','ana',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,5,NULL,'c0d98a32cddbb54ea16ce2e8f52a688bd984691738089675e7dbb6f427161d7d','7fbe48f3c99a4d0f23e3bb9a6706103b2784ccf239ea2ec9ac5fb5a287383861');
INSERT INTO "entry" VALUES(7,1760000488000,'charge','clinic','ana','["staff"]','1/10','1/1000000000',NULL,'0/1','plan 3','v1','request 3','query',NULL,NULL,NULL,'7fbe48f3c99a4d0f23e3bb9a6706103b2784ccf239ea2ec9ac5fb5a287383861','ceabd998302848812700b36face013ef5f827570e845390abaffc6795e0eb0db');
INSERT INTO "entry" VALUES(8,1760000549000,'settle','clinic','ana',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,7,'a0792507fa297ef8e26ef2cad758b37e18427f49d52849d370d51b6be8b529ea','ceabd998302848812700b36face013ef5f827570e845390abaffc6795e0eb0db','3e163e09f90b0cf7ba38477cd225b40c8566a93b3e00eec11ec4ad713e7e0fb3');
INSERT INTO "entry" VALUES(9,1760000610000,'charge','clinic','bob','[]','1/3','0/1','1/20','1/10000000','plan 4','v1',NULL,'query',NULL,NULL,NULL,'3e163e09f90b0cf7ba38477cd225b40c8566a93b3e00eec11ec4ad713e7e0fb3','6e85700c57079056d3e4458e449945544527f2f84c24c11b81e28e4f615ddf6f');
INSERT INTO "entry" VALUES(10,1760000671000,'settle','clinic','bob',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,9,'699fa374b79b47b48065027b4f3b0447ef9d29f32017a5e320a47a930b156a3c','6e85700c57079056d3e4458e449945544527f2f84c24c11b81e28e4f615ddf6f','4ae0b251367a81d9be995e6b422e107db53df4ab15dd8d2966b1b193de43b1ff');
INSERT INTO "entry" VALUES(11,1760000732000,'charge','clinic','curator','[]','1/4','0/1','1/32','0/1','plan 5','v1','request 5','calibrate','visits.max_rows',NULL,NULL,'4ae0b251367a81d9be995e6b422e107db53df4ab15dd8d2966b1b193de43b1ff','b6c37eb8512090b54866ba88bebe9ab2841f3f316698d0fa530c4176859724ba');
INSERT INTO "entry" VALUES(12,1760000793000,'settle','clinic','curator',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,11,'4b91e3aeae86475ca23c5c1d9a7b82c76bdf4c62ddc512d080806d8888f3ebfa','b6c37eb8512090b54866ba88bebe9ab2841f3f316698d0fa530c4176859724ba','1d625df40745342708f6d2db7919f736ed9b1f761e4f9517abea032b1070d11b');
INSERT INTO "entry" VALUES(13,1760000854000,'charge','clinic','curator','[]','0/1','0/1','0/1','0/1','plan 6','v1',NULL,'disclosure','anonymise visits: k=5',NULL,NULL,'1d625df40745342708f6d2db7919f736ed9b1f761e4f9517abea032b1070d11b','8d52b5e856c8ad9ae967298a5a5e73b0b127bd1157859be119caf1e85ce48247');
INSERT INTO "entry" VALUES(14,1760000915000,'settle','clinic','curator',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,13,'333451594450a2f80e68308d076ddc8626a748a9869868ab69114ff01d68c4e7','8d52b5e856c8ad9ae967298a5a5e73b0b127bd1157859be119caf1e85ce48247','e4be9905ae20a488ae9edc3988b84d349160a022446f6db89a51237d8ebcd331');
INSERT INTO "entry" VALUES(15,1760000976000,'charge','tax office','ana','[]','1/10','1/1000000000',NULL,'0/1','plan 7','v1','request 7','query',NULL,NULL,NULL,'e4be9905ae20a488ae9edc3988b84d349160a022446f6db89a51237d8ebcd331','311171bdeb30165a5da869154ae4ec364d164e7857f9d37328f6aaeae6153eeb');
INSERT INTO "entry" VALUES(16,1760000976000,'accept',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'a drill: the mark stood at entry 15, 311171bdeb30165a5da869154ae4ec364d164e7857f9d37328f6aaeae6153eeb',NULL,NULL,'311171bdeb30165a5da869154ae4ec364d164e7857f9d37328f6aaeae6153eeb','7bbc16491c715c19380f605e3f622e5366f4f447c8dc0a80c87ea7844437cae5');
CREATE UNIQUE INDEX outcome ON entry (charge) WHERE charge IS NOT NULL;
CREATE UNIQUE INDEX request ON entry (dataset, analyst, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX spender ON entry (dataset, analyst, at) WHERE act = 'charge';
CREATE INDEX shelf_key ON answer (dataset, key) WHERE key IS NOT NULL;
CREATE INDEX shelf_family ON answer (dataset, family) WHERE family IS NOT NULL;
COMMIT;
-- tacit mark 1 16 7bbc16491c715c19380f605e3f622e5366f4f447c8dc0a80c87ea7844437cae5 f6ed9ada174f49cb

CREATE TABLE hits (WatchID bigint NOT NULL, Title text NOT NULL, EventTime timestamp NOT NULL, EventDate date NOT NULL, CounterID integer NOT NULL, ClientIP integer NOT NULL,
    RegionID integer NOT NULL, UserID bigint NOT NULL, OS smallint NOT NULL, UserAgent smallint NOT NULL, URL text NOT NULL, Referer text NOT NULL, IsRefresh smallint NOT NULL,
    ResolutionWidth smallint NOT NULL, ResolutionHeight smallint NOT NULL, MobilePhone smallint NOT NULL, MobilePhoneModel text NOT NULL, SearchEngineID smallint NOT NULL,
    SearchPhrase text NOT NULL, AdvEngineID smallint NOT NULL, WindowClientWidth smallint NOT NULL, WindowClientHeight smallint NOT NULL, TraficSourceID smallint NOT NULL,
    DontCountHits smallint NOT NULL, IsLink smallint NOT NULL, IsDownload smallint NOT NULL, RefererHash bigint NOT NULL, URLHash bigint NOT NULL);
